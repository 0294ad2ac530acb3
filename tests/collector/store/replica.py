"""A process beside others like it: finishes sessions that each of them finishes, and asks what is due until nothing is
left. Prints `kept` with a session and `asked` with a question."""

from __future__ import annotations

import asyncio
import sys

from sqlalchemy import make_url

from collector.store.ledger import Charge, Reservation, Vote
from collector.store.postgres import PostgresStore
from collector.store.store import PendingQuestion
from judge.budget import Amount, Budget, Limit
from judge.verdict import Score
from tests.fakes.verdicts import NOW_NS, answered, closed, judged, pending

_SESSIONS = 40
_BUDGET = Budget((Limit("hour", "tokens", 800),))  # what all questions cost, and not one more


async def _replica(url: str, name: str) -> None:
    store = PostgresStore.open(make_url(url), holder=name)

    async def finish(number: int) -> None:
        session = f"s-{number}"
        questions = [pending(session, ref=ref) for ref in ("first", "second")]
        if await store.finish(closed(session), [judged(session)], questions, ["otlp"]):
            _say("kept", session)

    async def ask(question: PendingQuestion) -> None:
        reserved = await store.ledger.reserve(_BUDGET, Amount(10), "e", NOW_NS, high_risk=True)
        assert isinstance(reserved, Reservation), "the budget is enough for each question once"
        _say("asked", question.id)
        charge = Charge(reserved, Amount(10))
        vote = Vote(None, "judge_refused", "", 10, 0)
        await store.ledger.keep_vote(question.id, 0, vote, charge, key=None, now_ns=NOW_NS)
        assert await store.settle(answered(question, Score(1.0, "Yes", "")), ["otlp"])

    await asyncio.gather(*(finish(number) for number in range(_SESSIONS)))
    while due := await store.due_questions(NOW_NS, 7):
        await asyncio.gather(*(ask(question) for question in due if isinstance(question, PendingQuestion)))
    await store.close()


def _say(kind: str, name: str) -> None:
    sys.stdout.write(f"{kind} {name}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_replica(sys.argv[1], sys.argv[2]))
