"""An installed package with an evaluator that does to its process what is asked for, by the session's name."""

from __future__ import annotations

import os
from pathlib import Path

_CODE = '''
import os
import signal
import time
from pathlib import Path

from judge.verdict import Score, Verdict, whole_session

QUIET = Path(__file__).parent / "quiet"


class Tricky:
    """Sessions called `endless-...` never end, and `deadly-...` end the process, until there is a file `quiet`."""

    id = "tricky"
    version = "1"

    def plan(self, trajectory, cases):
        while trajectory.session_id.startswith("endless") and not QUIET.exists():
            time.sleep(0.01)
        if trajectory.session_id.startswith("deadly") and not QUIET.exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return [Verdict(self.id, self.version, whole_session(trajectory), Score(1.0, "fine", "it came to an end"))]
'''


def tricky(directory: Path) -> dict[str, str]:
    """Installs it; the environment of a server that is to find it."""
    information = directory / "tricky-1.dist-info"
    information.mkdir(parents=True)
    (directory / "tricky.py").write_text(_CODE)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tricky\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[spanjudge.evaluators]\ntricky = tricky:Tricky\n")
    paths = [str(directory), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def calm(directory: Path) -> None:
    (directory / "quiet").touch()
