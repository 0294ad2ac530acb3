"""A real PostgreSQL for the tests: a server to start and to stop, and databases of one test each."""
