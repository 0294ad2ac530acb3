"""What another reader of agent telemetry makes of our fixtures, and why that differs where it does."""
