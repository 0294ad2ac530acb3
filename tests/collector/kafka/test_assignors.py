"""Two members of one process are two members, and members hear of it when they go by different settings."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

from collector.kafka.assignors import ranges, sticky


class Cluster:
    """With one topic of four partitions."""

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0, 1, 2, 3}


def _joined(*members: Any) -> dict[str, ConsumerProtocolMemberMetadata]:
    return {f"member-{number}": member.metadata(["t"]) for number, member in enumerate(members)}


@pytest.mark.parametrize(("other", "told"), [(b"same", False), (b"another", True), (b"", False)])
def test_who_shares_out_hears_whether_all_go_by_the_same_settings(other: bytes, told: bool) -> None:
    heard: list[bool] = []
    one, two = ranges(b"same", heard.append), ranges(other, lambda _: None)
    shares = one.assign(Cluster(), _joined(one, two))
    assert heard == [False, told]
    assert sorted(at.partition for share in shares.values() for at in share.partitions()) == [0, 1, 2, 3]


def test_who_joins_anew_and_does_not_share_out_tells_nothing_any_more() -> None:
    heard: list[bool] = []
    one, two = ranges(b"one", heard.append), ranges(b"two", lambda _: None)
    one.assign(Cluster(), _joined(one, two))
    two.assign(Cluster(), _joined(one, two))
    assert heard == [False, True, False]


def test_what_one_member_was_given_is_not_told_by_another() -> None:
    one, two = sticky(), sticky()
    one.on_assignment(ConsumerProtocolMemberAssignment(0, [("t", [0, 1])], b""))
    assert one.metadata(["t"]).user_data != b""
    assert two.metadata(["t"]).user_data == b""
