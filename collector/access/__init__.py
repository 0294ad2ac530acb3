"""Who may see and do what on the page and the API; docs/access.md describes it."""
