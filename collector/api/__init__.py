"""The JSON API on the admin listener; docs/api.md describes it."""
