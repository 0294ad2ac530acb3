"""The page for people on the admin listener: sessions, one session, labels, skills and versions; docs/page.md."""
