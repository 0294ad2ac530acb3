"""The `spanjudge` command; `python -m collector` is the same."""

import os
import sys

from collector.malloc import restart_with_settings


def main() -> None:
    # gRPC's core reads this when it is imported. Else it writes a line, past our log, for every connection that fails
    # or asks for an unknown name (which it repeats, whatever it is): whoever reaches the port could fill the disk.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    if sys.argv[1:2] == ["run"]:
        restart_with_settings(sys.argv[1:])  # before the large imports, which would otherwise be paid for twice

    from collector.cli import main as command

    command()


if __name__ == "__main__":
    main()
