"""A real OpenTelemetry Collector for the tests, built from Go modules: OTLP in; Kafka, OTLP and files out."""
