"""The `spanjudge` command; `python -m collector` is the same."""

import sys

from collector.malloc import restart_with_settings


def main() -> None:
    if sys.argv[1:2] == ["run"]:
        restart_with_settings(sys.argv[1:])  # before the large imports, which would otherwise be paid for twice

    from collector.cli import main as command

    command()


if __name__ == "__main__":
    main()
