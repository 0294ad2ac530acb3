"""Text for made-up conversations: made-up words, some common and some rare, so that it compresses as text does."""

from __future__ import annotations

from itertools import accumulate
from random import Random

_STARTS = ("b", "br", "d", "f", "g", "gr", "h", "k", "kl", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w")
_MIDDLES = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_ENDS = ("", "", "n", "r", "l", "s", "t", "nd", "rk", "m")
WORDS = 3_000
SENTENCES = 4_000


class Prose:
    """Text of a wanted length, drawn from sentences that were written once."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        words = [_word(chance) for _ in range(WORDS)]
        # The n-th word is used 1/n as often as the first, roughly, as in any language.
        weights = list(accumulate(1 / (rank + 3) for rank in range(WORDS)))
        self._sentences = [
            " ".join(chance.choices(words, cum_weights=weights, k=chance.randrange(6, 20))).capitalize() + "."
            for _ in range(SENTENCES)
        ]

    def text(self, characters: int) -> str:
        """About `characters` characters: whole sentences, at least one."""
        taken, length = [], 0
        while length < characters:
            chosen = self._chance.choice(self._sentences)
            taken.append(chosen)
            length += len(chosen) + 1
        return " ".join(taken)


def _word(chance: Random) -> str:
    return "".join(
        chance.choice(_STARTS) + chance.choice(_MIDDLES) + chance.choice(_ENDS)
        for _ in range(chance.choice((1, 1, 2, 2, 3)))
    )
