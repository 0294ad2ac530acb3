"""Sessions that grow while other things happen to the server."""

from __future__ import annotations

import itertools
import threading

import grpc

from collector.store.store import ClosedSession
from tests.end_to_end.agents import request, tool_span
from tests.end_to_end.server import Server, wait_for


class Sender:
    """Sends spans of a few sessions from a thread, on and on; remembers which were acknowledged."""

    def __init__(self, server: Server, sessions: int) -> None:
        self.sent = 0
        self.acknowledged: dict[str, set[str]] = {f"chat-{number}": set() for number in range(1, sessions + 1)}
        self._server = server
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Sender:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def count(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    def wait_for_more(self, spans: int, what: str) -> None:
        enough = self.count() + spans
        wait_for(lambda: self.count() >= enough, what)

    def _run(self) -> None:
        with self._server.exporting() as export:
            for number in itertools.count(1):
                spans = [
                    tool_span(name, trace, trace * 100_000 + number * 10 + at)
                    for trace, name in enumerate(self.acknowledged, start=1)
                    for at in range(5)
                ]
                while not self._stop.is_set():
                    try:
                        export(request(spans))
                    except grpc.RpcError:
                        continue  # what is not acknowledged is sent again, as every exporter does
                    for span in spans:
                        name = span.attributes[0].value.string_value
                        self.acknowledged[name].add(f"call-{int.from_bytes(span.span_id, 'big')}")
                    break
                if self._stop.is_set():
                    return


def _calls(closed: ClosedSession) -> set[str | None]:
    assert closed.trajectory is not None
    return {call.call_id for call in closed.trajectory.tool_calls}


def assert_complete(server: Server, acknowledged: dict[str, set[str]]) -> None:
    """Every acknowledged span of a session is in one closing of it, and no revision was judged twice."""
    for name, calls in acknowledged.items():
        assert len(calls) > 10

        def complete(name: str = name, calls: set[str] = calls) -> bool:
            return any(calls <= _calls(closed) for closed in server.closings(name))

        wait_for(complete, f"every acknowledged span of {name} in one closing")
        revisions = [closed.ref.revision for closed in server.closings(name)]
        assert len(set(revisions)) == len(revisions)
