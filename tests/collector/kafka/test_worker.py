"""Every session is judged once in each revision, whoever reads its partition, and whenever that changes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from collector.kafka.session_topic import followed_headers, session_headers, session_key, session_partition
from collector.kafka.worker import Bounds
from collector.sessions.keys import Kind, Owner
from judge.verdict import NotJudged
from tests.collector.kafka.working import Working, working, world
from tests.collector.sessions.telemetry import span, trace_id, trace_request
from tests.eventually import eventually
from tests.kafka.broker import Broker
from tests.kafka.cluster import KAFKAS_OWN, Cluster, coordinating
from tests.kafka.desk import Desk

WAITING = NotJudged("pending", "waiting for a judge")
DECLINED = NotJudged("declined", "the judge would not say")

pytestmark = pytest.mark.integration("kafka")


async def test_a_session_is_judged_once_and_told_of_and_the_watermark_moves(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path) as there, working(there) as half:
        last = [await there.send("s") for _ in range(3)][-1]
        await half.silence()
        await half.judged("s")
        before, after = (await there.records())["s"]
        assert (before["revision"], before["judged"], before["verdicts"]) == (1, False, [])
        assert (after["revision"], after["judged"], after["close_reason"]) == (1, True, "idle")
        assert after["last_offset"] == last
        assert {verdict["id"] for verdict in after["verdicts"]} == {
            one.id for one in await there.store.verdicts((await there.store.session("s"))[0].ref)
        }
        assert await there.revisions() == {"s": [1]}
        await half.silence(601)  # the late window is over, and nobody needs what was read

        async def moved() -> bool:
            return (await there.committed()).get(0) == last + 1

        await eventually(moved, "the watermark is behind the last message")


async def test_late_telemetry_within_the_window_is_the_next_revision_and_reads_all(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path) as there, working(there) as half:
        await there.send("s", 2)
        await half.silence()
        await half.judged("s")
        await there.send("s", 3)
        await half.silence()

        async def twice() -> bool:
            return (await there.revisions()).get("s") == [1, 2]

        await eventually(twice, "a second revision")
        assert [one.spans for one in await there.store.session("s")] == [5, 2]


async def test_telemetry_after_the_window_is_kept_and_not_judged(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path) as there, working(there) as half:
        await there.send("s")
        await half.silence()
        await half.judged("s")
        judged = (await there.records())["s"][-1]["verdicts"]
        await half.silence(700)

        async def forgotten() -> bool:
            return (await there.committed()).get(0) == 1

        await eventually(forgotten, "the session is over")
        await there.send("s")
        await half.silence()

        async def kept() -> bool:
            return (await there.revisions()).get("s") == [1, 2]

        await eventually(kept, "the late telemetry")
        assert [one.judged for one in await there.store.session("s")] == [False, True]
        await half.judged("s")
        told = (await there.records())["s"][-1]["verdicts"]
        assert [each["id"] for each in told] == [each["id"] for each in judged]


async def test_a_worker_that_takes_over_goes_on_where_the_other_was_killed(kafka: Desk, tmp_path: Path) -> None:
    """Of sessions in every state: open, closed and not judged, judged, judged and open again."""
    async with world(kafka, tmp_path, partitions=2) as there:
        async with working(there, "first") as first:
            for session in ("judged", "again"):
                await there.send(session)
            await first.silence()
            await first.judged("judged", "again")
            await there.send("again")
            await there.send("closing")
            await first.has_read()
            first.gate.open.clear()
            there.clock.advance(61)

            async def closing() -> bool:
                return {"again", "closing"} <= (await there.records()).keys() and len(first.gate.tasks) == 4

            await eventually(closing, "closed, and not judged")
            await there.send("open")
            await first.has_read()
            decided = (await there.records())["closing"][-1]["closings"]
            await first.abandon()
        async with working(there, "second") as second:
            await second.has_read()
            assert second.open_sessions() == 1
            await second.silence()
            await second.judged("judged", "again", "closing", "open")
            assert await there.revisions() == {"judged": [1], "again": [1, 2], "closing": [1], "open": [1]}
            records = await there.records()
            judged = records["closing"][-1]["closings"]
            assert [{**each, "judged": False} for each in judged] == decided  # at the same place, at the same time
            assert records["judged"] == (await there.records())["judged"]
            assert len(records["judged"]) == 2  # before and after; the second worker had nothing to say of it


async def test_what_the_first_worker_had_kept_and_not_told_is_told_by_the_next(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path) as there:
        async with working(there, "first") as first:
            await there.send("s")
            first.gate.open.clear()
            await first.silence()

            async def handed_out() -> bool:
                return bool(first.gate.tasks)

            await eventually(handed_out, "the closing is handed out")
            (task,) = first.gate.tasks
            report = await first.gate.evaluating.evaluate([task])  # kept, and then the process ends
            assert report.statuses == ("kept",)
            await first.abandon()
        async with working(there, "second") as second:
            await second.judged("s")
            assert await there.revisions() == {"s": [1]}
            stored = await there.store.verdicts((await there.store.session("s"))[0].ref)
            told = (await there.records())["s"][-1]["verdicts"]
            assert {each["id"] for each in told} == {one.id for one in stored}


async def test_a_worker_that_was_cut_off_closes_nothing_once_another_has_its_share(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path) as there, working(there, "first") as first:
        await there.send("s")
        await first.has_read()
        share = first.worker.shares[0]
        share.held = False  # it hangs
        await there.begin_partition(0)  # another one begins to write
        share.held = True
        there.clock.advance(61)

        async def begun_anew() -> bool:
            return first.value("kafka_shares_lost_total") == 1

        await eventually(begun_anew, "it was refused")
        assert first.gate.tasks == []
        await first.silence()
        await first.judged("s")
        assert await there.revisions() == {"s": [1]}


async def test_partitions_move_to_a_worker_that_joins_and_back_when_it_leaves(kafka: Desk, tmp_path: Path) -> None:
    sessions = [f"s{number}" for number in range(12)]
    async with world(kafka, tmp_path, partitions=4) as there, working(there, "first") as first:
        for session in sessions[:6]:
            await there.send(session)
        await first.has_read()
        async with working(there, "second") as second:

            async def shared() -> bool:
                return len(first.worker.shares) == len(second.worker.shares) == 2

            await eventually(shared, "each has two")
            assert first.value("kafka_takeovers_total", how="resumed") >= 2
            for session in sessions[6:]:
                await there.send(session)

            async def read() -> bool:
                return first.open_sessions() + second.open_sessions() == len(sessions)

            await eventually(read, "all sessions are open")
        await first.silence()
        await first.judged(*sessions)
        assert await there.revisions() == {session: [1] for session in sessions}


async def test_a_trace_that_is_named_after_it_was_judged_is_superseded_once(kafka: Desk, tmp_path: Path) -> None:
    trace = trace_id(77).hex()
    async with world(kafka, tmp_path) as there:
        async with working(there, "first") as first:
            await there.send(trace, kind=Kind.TRACE)
            await first.silence()
            await first.judged(trace)
            moved = await there.move(trace, "s")

            async def superseded() -> bool:
                return (await there.revisions())[trace] == [1, 2]

            await eventually(superseded, "the next revision of the trace")
            newest, _ = await there.store.session(trace)
            assert "session s" in newest.note
            await first.judged(trace)
        record = (await there.records())[trace][-1]
        assert (record["close_reason"], record["last_offset"], record["verdicts"]) == ("moved", moved, [])
        async with working(there, "second") as second:
            await second.silence()
            await there.send("other")
            await second.silence()
            await second.judged("other")
            assert (await there.revisions())[trace] == [1, 2]


async def test_a_trace_that_is_named_while_it_is_open_is_not_judged_alone(kafka: Desk, tmp_path: Path) -> None:
    trace = trace_id(78).hex()
    async with world(kafka, tmp_path) as there, working(there) as half:
        await there.send(trace, kind=Kind.TRACE)
        await there.move(trace, "s")
        await there.send("s")
        await half.silence()
        await half.judged("s")
        assert (await there.revisions()).keys() == {"s"}
        assert half.value("sessions_discarded_total", reason="moved") == 1


async def test_a_session_that_another_goes_on_from_is_judged_without_waiting_for_silence(
    kafka: Desk, tmp_path: Path
) -> None:
    async with world(kafka, tmp_path) as there, working(there) as half:
        await there.send("s")
        key = session_key(Owner(Kind.SESSION, "s"))
        await kafka.send(there.topics.sessions, key, b"", followed_headers(""))
        await half.silence(5)
        await half.judged("s")
        (closed,) = await there.store.session("s")
        assert closed.close_reason == "end_marker"


@pytest.mark.parametrize(
    ("key", "headers"),
    [
        (b"\0trace:" + b"0A" * 16, session_headers("traces", "")),
        (b"\0s", [*session_headers("traces", "")[:1], ("spanjudge.version", None)]),
        (b"\0t", [*session_headers("traces", "")[1:], ("spanjudge.signal", None)]),
        (b"k" * 300_000, [("note", b"x" * 300_000)]),
    ],
    ids=["a trace id of other letters", "no version", "no signal", "a large key and headers"],
)
async def test_what_a_stranger_writes_is_a_dead_letter_and_holds_up_nothing(
    kafka: Desk, tmp_path: Path, key: bytes, headers: list[Any]
) -> None:
    async with world(kafka, tmp_path) as there, working(there) as half:
        await kafka.send(there.topics.sessions, key, trace_request([span(1, 1)]), headers)
        await there.send("s")
        await half.silence()
        await half.judged("s")
        assert len(await kafka.read(there.topics.dead_letters)) == 1
        assert half.worker.problem() is None


async def test_a_message_that_the_client_cannot_read_is_a_dead_letter_and_holds_up_nothing(
    kafka: Desk, tmp_path: Path
) -> None:
    async with world(kafka, tmp_path) as there, working(there) as half:
        await there.send("s")
        await kafka.send_unreadable(there.topics.sessions, session_key(_owner("t")), trace_request([span(1, 1)]))
        await kafka.send_unreadable(there.topics.verdicts, session_key(_owner("t")), b"")
        await there.send("u")

        async def read_past() -> bool:
            return half.open_sessions() == 2

        await eventually(read_past, "both sessions are open", within_s=60)
        letters = await kafka.read(there.topics.dead_letters)
        assert [letter.headers["spanjudge.offset"] for letter in letters] == [b"1", b"2", b"3"]


async def test_a_record_of_a_session_that_no_worker_has_written_tells_nothing(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path) as there:
        strange = b'{"version":1,"session":5,"tenant":"","kind":"session","pending":0,"verdicts":[],"closings":[]}'
        for value in (strange, b"[" * 100_000, b"null", b""):
            await kafka.send(there.topics.verdicts, b"\0s", value, [])
        async with working(there) as half:
            await there.send("s")
            await half.silence()

            async def judged() -> bool:
                return await there.revisions() == {"s": [1]}

            await eventually(judged, "it is judged", within_s=60)


async def test_verdicts_that_no_message_has_room_for_are_in_the_store(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path) as there:
        async with working(there, bounds=Bounds(10**9, 500)) as half:
            await there.send("s")
            await half.silence()
            await half.judged("s")
        (record,) = (await there.records())["s"][-1:]
        assert record["verdicts"] == []
        ref = (await there.store.session("s"))[0].ref
        assert record["verdicts_left_out"] == len(await there.store.verdicts(ref)) > 0


async def test_what_kafka_deleted_before_it_was_read_is_counted(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path) as there:
        await there.send("gone")
        async with working(there, "first") as first:
            await first.has_read()
        await kafka.delete_before(there.topics.sessions, 1)
        await there.send("s")
        async with working(there, "second") as second:
            await second.silence()
            await second.judged("s")
            assert second.value("kafka_sessions_skipped_total") == 1
            assert (await there.revisions()).keys() == {"s"}


async def test_a_topic_that_is_made_anew_is_read_from_its_beginning(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path, extra={"consumer": {"metadata_max_age_ms": 500}}) as there:
        async with working(there) as half:
            for _ in range(3):
                await there.send("before")
            await half.silence()
            await half.judged("before")
            await kafka.delete(there.topics.sessions)
            await kafka.create(there.topics.sessions)
            await there.send("after")

            async def closed() -> bool:
                half.world.clock.advance(61)
                return "after" in await there.revisions()

            await eventually(closed, "what is in the new topic is judged", within_s=60)
        assert await there.revisions() == {"before": [1], "after": [1]}


async def test_a_message_that_nobody_can_read_is_a_dead_letter_and_holds_up_nothing(
    kafka: Desk, tmp_path: Path
) -> None:
    async with world(kafka, tmp_path) as there, working(there) as half:
        topic = there.topics.sessions
        headers = session_headers("traces", "")
        await kafka.send(topic, b"\0s", b"no otlp", headers)
        await kafka.send(topic, b"\0s", b"", [("spanjudge.version", b"99")])
        await kafka.send(topic, b"no key of ours", b"", headers)
        await there.send("s")
        await half.silence()
        await half.judged("s")
        letters = await kafka.read(there.topics.dead_letters)
        assert [letter.headers["spanjudge.cause"] for letter in letters] == [
            b"malformed",
            b"unknown_version",
            b"malformed",
        ]
        assert [letter.headers["spanjudge.offset"] for letter in letters] == [b"0", b"1", b"2"]
        assert half.value("kafka_dead_letters_total", cause="malformed") == 2


async def test_letters_about_a_message_that_is_read_twice_have_one_key(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path) as there:
        await there.send("s")  # stays open: whoever comes next begins before the message that nobody can read
        await kafka.send(there.topics.sessions, b"\0t", b"no otlp", session_headers("traces", ""))
        for name in ("first", "second"):
            async with working(there, name) as half:
                await half.has_read()

                async def buried(half: Working = half) -> bool:
                    return half.value("kafka_dead_letters_total", cause="malformed") == 1

                await eventually(buried, "a dead letter")
        letters = await kafka.read(there.topics.dead_letters)
        assert [letter.key for letter in letters] == [f"{there.topics.sessions}/0/1".encode()] * 2
        assert {letter.headers["spanjudge.key"] for letter in letters} == {b"\0t"}


async def test_reading_pauses_while_too_many_closings_wait_and_goes_on_after(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path) as there, working(there, max_waiting=2) as half:
        for session in ("a", "b"):
            await there.send(session)
        half.gate.open.clear()
        await half.silence()

        async def paused() -> bool:
            return half.value("kafka_partitions", state="paused") == 1

        await eventually(paused, "the partition is paused")
        await there.send("c")

        async def waiting() -> bool:
            return half.value("kafka_work_waiting_messages") >= 2

        await eventually(waiting, "work that waits is told")
        assert half.open_sessions() == 0
        half.gate.open.set()
        await half.silence()
        await half.judged("a", "b", "c")
        assert half.value("kafka_shares_lost_total") == 0


async def test_a_full_disk_pauses_reading_and_closing_goes_on(kafka: Desk, tmp_path: Path) -> None:
    async with (
        world(kafka, tmp_path) as there,
        working(there, bounds=Bounds(0, 10**6)) as half,
    ):

        async def full() -> bool:
            return "have grown" in (half.worker.problem() or "")

        await there.send("s")
        await eventually(full, "there is no room")
        assert half.value("journal_room_bytes") < 0

        async def closed() -> bool:
            there.clock.advance(61)
            return "s" in await there.revisions()

        await eventually(closed, "what was read before is closed")


async def test_a_topic_of_verdicts_that_is_made_anew_has_nothing_judged_twice(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path, request_seconds=1) as there, working(there) as half:
        await there.send("s")
        await half.silence()
        await half.judged("s")
        await kafka.delete(there.topics.verdicts)
        await kafka.create(there.topics.verdicts)
        await there.send("t")
        await there.send("s")

        async def judged() -> bool:
            half.world.clock.advance(61)
            return "t" in await there.revisions() and half.worker.problem() is None

        await eventually(judged, "other sessions are judged", within_s=60)
        await half.silence()

        async def kept() -> bool:
            return len(await there.store.session("s")) == 2

        await eventually(kept, "what came since is judged with what came before", within_s=60)
        assert await there.revisions() == {"s": [1, 2], "t": [1]}
        assert [(one.judged, one.spans) for one in await there.store.session("s")] == [(True, 2), (True, 1)]


async def test_a_worker_that_read_nothing_for_too_long_takes_its_share_up_again(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path, poll_seconds=1, request_seconds=1) as there, working(there) as half:
        await there.send("open")
        await half.has_read()
        await kafka.delete(there.topics.dead_letters)
        await kafka.send(there.topics.sessions, b"\0t", b"no otlp", session_headers("traces", ""))
        await there.send("s")

        async def reads() -> bool:
            return half.worker.shares[0].offsets.next_offset > 1

        await eventually(reads, "it has met the message that it can put nowhere")
        out = half.value("kafka_rebalances_total")

        async def taken_for_dead() -> bool:
            return not await kafka.members(there.kafka.worker_group)

        await eventually(taken_for_dead, "the group has no members", within_s=60)
        await kafka.create(there.topics.dead_letters)
        await half.silence()
        await half.judged("open", "s")
        assert half.value("kafka_rebalances_total") > out
        assert half.value("kafka_dead_letters_total", cause="malformed") == 1
        assert await there.revisions() == {"open": [1], "s": [1]}


async def test_a_broker_that_restarts_costs_time_and_nothing_else(own_kafka: Broker, tmp_path: Path) -> None:
    async with world(Desk(own_kafka.bootstrap), tmp_path) as there, working(there) as half:
        await there.send("before")
        await half.has_read()
        await asyncio.to_thread(own_kafka.kill)
        there.clock.advance(61)  # to close, a record has to be written
        await asyncio.to_thread(own_kafka.start)
        await there.send("after")
        await half.silence()
        await half.judged("before", "after")
        assert await there.revisions() == {"before": [1], "after": [1]}


async def test_another_leader_costs_time_and_nothing_else(kafka_cluster: Cluster, tmp_path: Path) -> None:
    """While closings are evaluated: of what is read, of what is written, then of the group and of the transactions."""
    desk = Desk(kafka_cluster.bootstrap)
    create = {"replicas": 3, "session_partitions": 2}
    sent: dict[str, int] = {}
    async with world(desk, tmp_path, create=create) as there, working(there) as half:
        topics, group = there.topics, there.kafka.worker_group
        places = ((topics.sessions, 0), (topics.verdicts, 1), *coordinating(group, f"{group}-0"))

        async def send(session: str, spans: int) -> None:
            sent[session] = spans
            await there.send(session, spans)

        for number, (topic, partition) in enumerate(places):
            for each in range(5):
                await send(f"{number}-{each}", 2)
            half.gate.tasks.clear()
            half.gate.open.clear()
            await half.silence()

            async def closed() -> bool:
                return bool(half.gate.tasks) and (await there.records()).keys() == sent.keys()

            await eventually(closed, "all are closed, and some are being evaluated")
            gone = await kafka_cluster.lose_leader(desk, topic, partition)
            half.gate.open.set()
            await send(f"{number}-after", 3)
            await half.silence()
            await half.judged(*sent)
            await asyncio.to_thread(gone.start)
            await desk.in_sync_again(3, topics.sessions, topics.verdicts, *KAFKAS_OWN)
        assert await there.revisions() == {session: [1] for session in sent}
        told = await there.records()
        for session, spans in sent.items():
            (one,) = await there.store.session(session)
            assert one.spans == spans
            stored = {each.id for each in await there.store.verdicts(one.ref)}
            assert {each["id"] for each in told[session][-1]["verdicts"]} == stored
        ends = {message.partition: message.offset + 1 for message in await desk.read(topics.sessions)}
        await half.silence(601)

        async def moved() -> bool:
            return await there.committed() == ends

        await eventually(moved, "the watermarks are behind the last messages")


async def test_partitions_that_are_added_are_left_alone_until_workers_start_anew(kafka: Desk, tmp_path: Path) -> None:
    extra = {"consumer": {"metadata_max_age_ms": 500}}
    async with world(kafka, tmp_path, partitions=2, extra=extra) as there:
        topics = there.topics
        moved = next(name for name in map(str, count()) if session_partition(session_key(_owner(name)), 5) == 4)
        async with working(there, "first") as first:
            await there.send("s")
            await first.has_read()
            await kafka.grow(topics.sessions, 5)
            await first.watch.look()
            problem = first.worker.problem() or ""
            assert "restart all receivers, routers and workers" in problem
            assert f"{topics.sessions} 5, {topics.verdicts} 2" in problem
            await there.send(moved)

            async def handed_out_anew() -> bool:
                return first.value("kafka_takeovers_total", how="resumed") >= 2

            await eventually(handed_out_anew, "the group has seen the new partitions")
            there.clock.advance(61)
            await first.judged("s")
            assert first.worker.shares.keys() == {0, 1}
            assert first.value("kafka_partitions", state="beginning") == 0
            assert (await there.records()).keys() == {"s"}
            assert 4 not in await there.committed()
        await kafka.grow(topics.verdicts, 5)
        async with working(there, "second") as second:
            await second.silence()
            await second.judged(moved)
            assert second.worker.problem() is None
            assert await there.revisions() == {"s": [1], moved: [1]}
            places = {
                message.partition
                for message in await kafka.read(topics.verdicts)
                if message.key == session_key(_owner(moved))
            }
            assert places == {4}


def _owner(session: str) -> Owner:
    return Owner(Kind.SESSION, session)


async def test_answers_of_a_judge_that_come_later_are_told_by_whoever_has_the_partition(
    kafka: Desk, tmp_path: Path
) -> None:
    async with world(kafka, tmp_path) as there:
        async with working(there, "first", judge=True) as first:
            await there.send("s")
            await first.silence()
            await first.judged("s")
            pending = (await there.records())["s"][-1]["pending"]
            assert pending > 0
        async with working(there, "second", judge=True) as second:
            await second.has_read()
            ref = (await there.store.session("s"))[0].ref
            for one in await there.store.verdicts(ref):
                if one.verdict.outcome == WAITING:
                    await there.store.settle(replace(one, verdict=replace(one.verdict, outcome=DECLINED)), ())

            async def told() -> bool:
                return not (await there.records())["s"][-1]["pending"]

            await eventually(told, "the answers are in the topic")
            reasons = [each.get("reason") for each in (await there.records())["s"][-1]["verdicts"]]
            assert reasons.count("declined") == pending
