"""Parts of the Codex harness."""
