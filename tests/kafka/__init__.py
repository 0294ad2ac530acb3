"""A real Apache Kafka for the tests: its jars, brokers to start and to kill, and looks into topics."""
