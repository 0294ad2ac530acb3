"""Which questions should wait for another that is on its way: those that would pay again for what it is about to make
cheap. Pure.

The judge's cache has a session's record only once the first answer about it has begun. Asked all at once, every
question of the session would pay for writing it; asked after the first, they read it for a tenth of the price.
"""

from __future__ import annotations

from collections.abc import Iterable

from collector.store.store import PendingQuestion
from judge.question import Question

WORTH_WAITING = 4_000
"""Characters of a shared beginning, below which no service caches it."""
_WARM_NS = 240 * 1_000_000_000
"""Caches keep an entry for five minutes after its last use."""
_FORGET = 1_000


class Prefixes:
    """Told of every question's beginning and end. With `once`, of questions that are the same in every word only one
    is on its way: the others find its answer."""

    def __init__(self, *, once: bool) -> None:
        self._once = once
        self._cold: set[int] = set()
        self._same: set[int] = set()
        self._warm_until_ns: dict[int, int] = {}

    def choose(self, due: Iterable[PendingQuestion], most: int, now_ns: int) -> list[PendingQuestion]:
        """Of these questions, in their order, those that may begin; they count as begun."""
        chosen: list[PendingQuestion] = []
        for pending in due:
            if len(chosen) >= most:
                break
            if self._may_begin(pending.question, now_ns):
                self._begins(pending.question, now_ns)
                chosen.append(pending)
        return chosen

    def ended(self, question: Question, now_ns: int, *, answered: bool) -> None:
        shared = _shared(question)
        self._cold.discard(shared)
        self._same.discard(_whole(question))
        if answered and len(question.prompt.prefix) >= WORTH_WAITING:
            if len(self._warm_until_ns) >= _FORGET:
                self._warm_until_ns = {key: until for key, until in self._warm_until_ns.items() if until > now_ns}
            self._warm_until_ns[shared] = now_ns + _WARM_NS

    def _may_begin(self, question: Question, now_ns: int) -> bool:
        return _shared(question) not in self._cold and not (self._once and _whole(question) in self._same)

    def _begins(self, question: Question, now_ns: int) -> None:
        shared = _shared(question)
        self._same.add(_whole(question))
        if len(question.prompt.prefix) >= WORTH_WAITING and self._warm_until_ns.get(shared, 0) <= now_ns:
            self._cold.add(shared)


def _shared(question: Question) -> int:
    """What must be alike for the cache to be found: everything before the question, and the form of the answer."""
    form = (question.model, question.effort, question.shape, question.offered)
    return hash((form, question.prompt.system, question.prompt.prefix))


def _whole(question: Question) -> int:
    return hash((_shared(question), question.scale.labels, question.prompt.question))
