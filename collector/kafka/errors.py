"""Why Kafka cannot be used. Each says in its words what an operator should look at."""

from __future__ import annotations


class KafkaProblem(Exception):
    """Nothing can be done through Kafka until somebody, or time, mends this."""


class KafkaUnusable(KafkaProblem):
    """The configuration cannot work on this machine, as a certificate that cannot be read."""


class KafkaNotReached(KafkaProblem):
    """No broker answers, or none lets us in."""


class TopicsUnfit(KafkaProblem):
    """Topics are missing, or have numbers of partitions that do not go together. `problems` has one line for each."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems
