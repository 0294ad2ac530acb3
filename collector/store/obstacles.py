"""What keeps questions waiting, as the process that asks the judge said last, for whoever reads the store beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Obstacle:
    """`reason` and `detail` are as in a `NotJudged`; `until_ns` is when it is looked at again, where that is known.

    It concerns all questions, or those of one `evaluator`, or those that bring one of these `models` (None among them:
    that bring none). With `spares_high_risk` those of high risk go on.
    """

    reason: str
    detail: str
    until_ns: int | None = None
    evaluator: str | None = None
    models: tuple[str | None, ...] | None = None
    spares_high_risk: bool = False

    def concerns(self, evaluator: str, model: str | None, *, high_risk: bool) -> bool:
        return (
            self.evaluator in {None, evaluator}
            and (self.models is None or model in self.models)
            and not (high_risk and self.spares_high_risk)
        )


@dataclass(frozen=True, slots=True)
class Told:
    """What was said at a moment; nothing in the way when `obstacles` is empty."""

    at_ns: int
    obstacles: tuple[Obstacle, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """How a question stands: `asked` counts attempts that failed, `trouble` is what the last of them met, "" for none;
    `in_batch` that it is on its way in a message batch."""

    id: str
    evaluator: str
    model: str | None
    high_risk: bool
    asked: int
    next_ns: int
    created_ns: int
    trouble: str = ""
    in_batch: bool = False


class Obstacles(Protocol):
    """Every method raises `StoreUnavailable`."""

    async def tell(self, told: Told) -> None:
        """In place of what was told before."""

    async def told(self) -> Told | None:
        """None where nobody ever said anything."""
