"""Telemetry of many small sessions, interleaved over many traces, as a fleet of agents sends it."""

from __future__ import annotations

import queue
import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.collector.sessions.telemetry import log_request, record
from tests.end_to_end.agents import request, tool_span
from tests.end_to_end.server import Server, wait_for

_SENDERS, _ITEMS = 3, 25
_WITHIN_S = 120  # over the restart of a broker

_Item = Span | LogRecord
_AnyItem = TypeVar("_AnyItem", Span, LogRecord)


@dataclass(frozen=True, slots=True)
class Talk:
    """One session; `first` is sent before `then`."""

    name: str
    first: tuple[_Item, ...]
    then: tuple[_Item, ...]

    @property
    def spans(self) -> int:
        return sum(isinstance(item, Span) for item in (*self.first, *self.then))

    @property
    def records(self) -> int:
        return len(self.first) + len(self.then) - self.spans

    @property
    def calls(self) -> set[str]:
        """Ids of its tool calls: one a span."""
        spans = (item for item in (*self.first, *self.then) if isinstance(item, Span))
        return {f"call-{int.from_bytes(span.span_id, 'big')}" for span in spans}


def talk(number: int) -> Talk:
    """By its number, one of three kinds: every span names the session, in two traces; only the root does, which comes
    last; or spans do, and of the records beside them one does not."""
    name, first, root = f"talk-{number}", number * 10 + 1, number * 10 + 9
    match number % 3:
        case 0:
            spans = [tool_span(name, number * 10 + at // 2, first + at) for at in range(4)]
            return Talk(name, tuple(spans[:2]), tuple(spans[2:]))
        case 1:
            children = [_child(_unnamed(tool_span(name, number * 10, first + at)), root) for at in range(2)]
            return Talk(name, tuple(children), (tool_span(name, number * 10, root),))
        case _:
            child = _child(tool_span(name, number * 10, first), root)
            named = record(number * 10, "agent.note", time=first + 1, session__id=name)
            unnamed = record(number * 10, "agent.note", time=first)
            return Talk(name, (unnamed, child), (named, tool_span(name, number * 10, root)))


def _unnamed(made: Span) -> Span:
    (naming,) = [attribute for attribute in made.attributes if attribute.key == "session.id"]
    made.attributes.remove(naming)
    return made


def _child(made: Span, parent: int) -> Span:
    made.parent_span_id = parent.to_bytes(8, "big")
    return made


def requests(*parts: Iterable[tuple[_Item, ...]]) -> list[tuple[str, bytes]]:
    """(signal, request): the items of each of `parts`, mixed, before those of the next."""
    mix = random.Random(7)  # the same order in every run
    found: list[tuple[str, bytes]] = []
    for part in parts:
        items = [item for each in part for item in each]
        mix.shuffle(items)
        spans = [item for item in items if isinstance(item, Span)]
        records = [item for item in items if isinstance(item, LogRecord)]
        made = [("traces", request(some)) for some in _batches(spans)]
        made += [("logs", log_request(some)) for some in _batches(records)]
        mix.shuffle(made)
        found += made
    return found


def _batches(items: Sequence[_AnyItem]) -> Iterator[Sequence[_AnyItem]]:
    return (items[at : at + _ITEMS] for at in range(0, len(items), _ITEMS))


class Fleet:
    """Sends requests side by side until each is acknowledged, as exporters do."""

    def __init__(self, receiver: Server) -> None:
        self._receiver = receiver
        self.acknowledged = 0
        self.rejected = 0
        """Items of acknowledged requests, named as rejected in the answer."""
        self.refusals: Counter[grpc.StatusCode] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def sending(self, bodies: Sequence[tuple[str, bytes]]) -> Iterator[None]:
        """In the background; on leaving, all of it is acknowledged. Left early, the rest is not sent."""
        waiting: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()
        for body in bodies:
            waiting.put(body)
        before = self.acknowledged
        threads = [threading.Thread(target=self._send_all, args=(waiting,)) for _ in range(_SENDERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        except BaseException:
            while not waiting.empty():
                waiting.get()
            raise
        finally:
            for thread in threads:
                thread.join()
        assert self.acknowledged - before == len(bodies), self.refusals
        assert not self.rejected

    def wait_for(self, requests: int) -> None:
        """Until so many more are acknowledged."""
        enough = self.acknowledged + requests
        wait_for(lambda: self.acknowledged >= enough, f"{requests} requests acknowledged", _WITHIN_S)

    def _send_all(self, waiting: queue.SimpleQueue[tuple[str, bytes]]) -> None:
        with self._receiver.exporting("traces") as traces, self._receiver.exporting("logs") as logs:
            while True:
                try:
                    signal, body = waiting.get_nowait()
                except queue.Empty:
                    return
                export = traces if signal == "traces" else logs

                def acknowledged(body: bytes = body, export: object = export) -> bool:
                    assert callable(export)
                    try:
                        answer = ExportTraceServiceResponse.FromString(export(body))  # logs are answered alike
                    except grpc.RpcError as error:
                        with self._lock:
                            self.refusals[error.code()] += 1
                        return False
                    with self._lock:
                        self.rejected += answer.partial_success.rejected_spans
                    return True

                wait_for(acknowledged, "an acknowledgement", _WITHIN_S)
                with self._lock:
                    self.acknowledged += 1
