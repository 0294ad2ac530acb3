"""Two sequences side by side: the longest that both have in the same order, preferring items that are alike in more.

Pure, and bounded: time is the product of the lengths that remain once equal ends are set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Alike = Callable[[int, int], bool]
"""Whether the items at these two positions, whose names are equal, are equal in everything else that is known."""


def align(left: Sequence[str], right: Sequence[str], alike: Alike) -> list[tuple[int, int]]:
    """Pairs of positions, rising on both sides: as many as possible with equal names, and of those choices one in
    which most pairs are alike."""
    start = 0
    end = 0
    shorter = min(len(left), len(right))

    def equal(one: int, other: int) -> bool:
        return left[one] == right[other] and alike(one, other)

    # A pair that is equal in everything at either end belongs to a best choice.
    while start < shorter and equal(start, start):
        start += 1
    while end < shorter - start and equal(len(left) - 1 - end, len(right) - 1 - end):
        end += 1
    middle = _middle(
        left[start : len(left) - end],
        right[start : len(right) - end],
        lambda one, other: alike(one + start, other + start),
    )
    tail = range(end, 0, -1)
    return [
        *((at, at) for at in range(start)),
        *((one + start, other + start) for one, other in middle),
        *((len(left) - at, len(right) - at) for at in tail),
    ]


def _middle(left: Sequence[str], right: Sequence[str], alike: Alike) -> list[tuple[int, int]]:
    # Scores count a pair as `unit` and one that is alike as one more, so that pairs always outweigh likeness.
    unit = min(len(left), len(right)) + 1
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for one in range(len(left) - 1, -1, -1):
        row, below = best[one], best[one + 1]
        for other in range(len(right) - 1, -1, -1):
            most = max(below[other], row[other + 1])
            if left[one] == right[other]:
                most = max(most, below[other + 1] + unit + alike(one, other))
            row[other] = most
    pairs: list[tuple[int, int]] = []
    one = other = 0
    while one < len(left) and other < len(right):
        if best[one][other] == best[one + 1][other]:
            one += 1
        elif best[one][other] == best[one][other + 1]:
            other += 1
        else:
            pairs.append((one, other))
            one, other = one + 1, other + 1
    return pairs
