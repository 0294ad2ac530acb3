"""What `spanjudge <command>` does, one module a command; `collector.cli` is only the list."""
