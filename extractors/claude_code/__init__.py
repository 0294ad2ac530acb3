"""What Claude Code's spans and log records say, joined; read through `extractors.harnesses.claude_code`."""
