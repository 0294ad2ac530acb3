"""How members of a group share out partitions, with an assignor for each consumer.

The client library has classes for that, asks the class, and keeps on it what a member had: of two consumers in one
process it would tell that each has what the other was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata

Tell = Callable[[bool], None]


def sticky() -> type[StickyPartitionAssignor]:
    """As few partitions as can be change hands."""
    return type("Sticky", (StickyPartitionAssignor,), {})


def ranges(settings: bytes, differ: Tell) -> type[RangePartitionAssignor]:
    """The same numbers of topics with equal counts go to one member.

    Members say when they join by what `settings` they go, in any form. The one of them that shares out hears from
    `differ`, at each rebalance, whether there are others; those that say nothing, as earlier versions, do not count.
    """

    class Ranges(RangePartitionAssignor):  # type: ignore[misc]  # the library has no types
        @classmethod
        def metadata(cls, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
            differ(False)  # another member may be the one that shares out now
            return ConsumerProtocolMemberMetadata(cls.version, list(topics), settings)

        @classmethod
        def assign(cls, cluster: Any, members: Mapping[str, ConsumerProtocolMemberMetadata]) -> Any:
            differ(len({member.user_data for member in members.values() if member.user_data}) > 1)
            return super().assign(cluster, members)

    return Ranges
