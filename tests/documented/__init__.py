"""Documents as what they show: pages, code blocks, lines of commands, and an installation to run them in."""
