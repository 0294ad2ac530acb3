"""TLS of the listeners and of what verdicts are exported to: certificates that can be replaced while they are used."""
