"""Which sessions read which parked traces: both directions of one relation, by reference so that the dead fall out."""

from __future__ import annotations

from collector.sessions.index import Ref, SessionIndex


class Parking:
    def __init__(self, index: SessionIndex) -> None:
        self._index = index
        self._traces: dict[Ref, list[Ref]] = {}
        self._readers: dict[Ref, list[Ref]] = {}

    def attach(self, session: int, trace: int) -> None:
        reader, parked = self._index.ref(session), self._index.ref(trace)
        traces = self._traces.setdefault(reader, [])
        if parked not in traces:
            traces.append(parked)
            self._readers.setdefault(parked, []).append(reader)

    def detach(self, session: int, trace: int) -> None:
        reader, parked = self._index.ref(session), self._index.ref(trace)
        self._remove(self._traces, reader, parked)
        self._remove(self._readers, parked, reader)

    def traces(self, session: int) -> list[int]:
        """Slots of the traces this session reads."""
        return self._alive(self._traces.get(self._index.ref(session), ()))

    def readers(self, trace: int) -> list[int]:
        """Slots of the sessions that read this trace."""
        return self._alive(self._readers.get(self._index.ref(trace), ()))

    def forget(self, slot: int) -> list[int]:
        """Before a slot is freed: take it out. Returns the traces that nobody reads any more."""
        ref = self._index.ref(slot)
        for reader in self._readers.pop(ref, ()):
            self._remove(self._traces, reader, ref)
        orphans: list[int] = []
        for parked in self._traces.pop(ref, ()):
            self._remove(self._readers, parked, ref)
            trace = self._index.slot(parked)
            if trace is not None and not self.readers(trace):
                orphans.append(trace)
        return orphans

    def _alive(self, refs: list[Ref] | tuple[()]) -> list[int]:
        return [slot for ref in refs if (slot := self._index.slot(ref)) is not None]

    @staticmethod
    def _remove(relation: dict[Ref, list[Ref]], key: Ref, value: Ref) -> None:
        values = relation.get(key)
        if values is not None and value in values:
            values.remove(value)
            if not values:
                del relation[key]
