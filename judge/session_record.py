"""The record of one session, rendered once for all evaluators that ask about it while they plan.

Rendering escapes and measures every text of a session; a dozen evaluators would do it a dozen times over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from extractors.trajectory import Trajectory
from judge.redaction import Redaction
from judge.transcript import Transcript, transcript


class _Shared:
    """What was rendered of one trajectory. It is known by identity: to compare two would cost as much as to render."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        self._rendered: list[tuple[int, Redaction, Transcript]] = []

    def get(self, trajectory: Trajectory, most_tokens: int, redaction: Redaction) -> Transcript:
        if trajectory is not self._trajectory:
            # The session up to one call, say: nobody asks for that again, and there may be hundreds.
            return transcript(trajectory, most_tokens, redaction)
        for tokens, masked_by, known in self._rendered:
            if tokens == most_tokens and masked_by is redaction:
                return known
        made = transcript(trajectory, most_tokens, redaction)
        self._rendered.append((most_tokens, redaction, made))
        return made


_SHARED: ContextVar[_Shared | None] = ContextVar("the record that is shared", default=None)
"""Of this thread, while it plans: evaluators that somebody else wrote have nothing to pass on."""


@contextmanager
def shared_record(trajectory: Trajectory) -> Iterator[None]:
    """Until the end of the block, `session_record` renders this trajectory once for each token limit and redaction."""
    before = _SHARED.set(_Shared(trajectory))
    try:
        yield
    finally:
        _SHARED.reset(before)


def session_record(trajectory: Trajectory, most_tokens: int, redaction: Redaction) -> Transcript:
    """As `transcript`."""
    shared = _SHARED.get()
    if shared is None:
        return transcript(trajectory, most_tokens, redaction)
    return shared.get(trajectory, most_tokens, redaction)
