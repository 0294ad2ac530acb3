"""What resource and scope say of the items in them. The same few come again and again, so it is remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError

from collector.errors import Malformed
from collector.otlp.envelope import ScopeGroup, embedded
from collector.otlp.wire_pb2 import ResourceHead, ScopeHead
from collector.sessions.keys import RawAttributes, SessionNames, name_fault, named_by, text_of

_MOST = 10_000
_MOST_BYTES = 32 * 1024**2


@dataclass(frozen=True, slots=True)
class Marks:
    """What in the telemetry means more than telemetry. `own_scope`: ours, never to be judged. `tenant_attribute` of a
    resource names the tenant of what it sends; None where only a header does."""

    own_scope: str = "spanjudge"
    own_service: str = "spanjudge"
    names: SessionNames = field(default_factory=SessionNames)
    tenant_attribute: str | None = None
    end_events: tuple[str, ...] = ("session.end",)
    end_attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Around:
    """`session` and `tenant` are what the resource names ("" for no tenant), `names` the attributes by which an item
    may name its session, `fault` why nothing in here can be taken, `rule` the idle rule of the service (None where
    there are no such rules)."""

    session: str | None
    tenant: str
    own: bool
    names: tuple[str, ...]
    fault: str | None = None
    rule: str | None = None


class Surroundings:
    """Reads resources and scopes; knows the latest by their bytes."""

    def __init__(self, marks: Marks, rule_of: Callable[[str], str] | None) -> None:
        """`rule_of` gives the idle rule of a service; None where there are none."""
        self._marks = marks
        self._rule_of = rule_of
        self._known: dict[tuple[bytes, bytes], Around] = {}
        self.size = 0
        """Bytes of what is remembered, bounded."""

    def of(self, group: ScopeGroup) -> Around:
        """Raises `Malformed` when the resource or the scope cannot be decoded."""
        key = (group.resource, group.scope)
        return self._known.get(key) or self._read(key)

    def _read(self, key: tuple[bytes, bytes]) -> Around:
        marks = self._marks
        try:
            attributes = ResourceHead.FromString(embedded(key[0], 1)).attributes
            scope = ScopeHead.FromString(embedded(key[1], 1)).name.decode("utf-8", "replace")
        except DecodeError as error:
            raise Malformed(f"a resource or scope cannot be decoded: {error}") from error
        service = _text(attributes, "service.name")
        own = scope == marks.own_scope or service == marks.own_service
        rule = self._rule_of(service or "") if self._rule_of else None
        names = marks.names.of(scope)
        named = named_by(attributes, names)
        session = named.session if named else None
        tenant = _text(attributes, marks.tenant_attribute) if marks.tenant_attribute else None
        around = Around(session, tenant or "", own, names, name_fault(session) or name_fault(tenant), rule)
        self._remember(key, around)
        return around

    def _remember(self, key: tuple[bytes, bytes], around: Around) -> None:
        size = len(key[0]) + len(key[1])
        if len(self._known) >= _MOST or self.size + size > _MOST_BYTES:
            self._known.clear()
            self.size = 0
        if size <= _MOST_BYTES:
            self._known[key] = around
            self.size += size


def _text(attributes: RawAttributes, name: str) -> str | None:
    return text_of(attributes[name]) if name in attributes else None
