"""Reading shell command lines: what they run and which files they print. Nothing is ever run."""
