"""`python -m collector` is `spanjudge`."""

from collector.cli import main

main()
