"""From claims to verdicts in the store, here or in processes of their own, so that ingest never waits for it."""
