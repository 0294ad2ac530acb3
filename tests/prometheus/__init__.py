"""A real Prometheus for tests: Debian's package `prometheus`."""
