"""Scale-out on Apache Kafka: telemetry through topics, for more sessions than one process can hold."""
