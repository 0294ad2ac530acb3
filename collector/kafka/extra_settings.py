"""What may stand under `kafka.extra`: arguments of the client library that have no key of their own."""

from __future__ import annotations

import difflib
import inspect
from typing import Literal, TypeAlias

from pydantic import StrictBool, StrictFloat, StrictInt, StrictStr

Setting: TypeAlias = StrictStr | StrictBool | StrictInt | StrictFloat
Client: TypeAlias = Literal["producer", "consumer"]

_KEYS = {
    "bootstrap_servers": "kafka.bootstrap_servers",
    "security_protocol": "kafka.security_protocol",
    "sasl_mechanism": "kafka.sasl_mechanism",
    "sasl_plain_username": "kafka.username",
    "sasl_plain_password": "kafka.password",
    "ssl_context": "kafka.tls",
    "client_id": "kafka.client_id",
    "request_timeout_ms": "kafka.request_seconds",
    "compression_type": "kafka.compression",
    "max_request_size": "kafka.max_message_bytes",
    "max_batch_size": "kafka.batch_bytes",
    "linger_ms": "kafka.linger_seconds",
    "transactional_id": "kafka.transactional_id",
    "group_id": "kafka.router_group and kafka.worker_group",
    "group_instance_id": "kafka.instance_id",
    "max_partition_fetch_bytes": "kafka.fetch_bytes",
    "auto_offset_reset": "kafka.start_from",
    "isolation_level": "kafka.isolation",
    "session_timeout_ms": "kafka.session_timeout_seconds",
    "heartbeat_interval_ms": "kafka.heartbeat_seconds",
    "rebalance_timeout_ms": "kafka.rebalance_timeout_seconds",
    "max_poll_interval_ms": "kafka.poll_seconds",
}
"""Arguments that have a key of their own."""

_OURS = frozenset(
    {
        "acks",
        "api_version",
        "auto_commit_interval_ms",
        "consumer_timeout_ms",
        "enable_auto_commit",
        "enable_idempotence",
        "key_deserializer",
        "key_serializer",
        "loop",
        "partition_assignment_strategy",
        "partitioner",
        "sasl_kerberos_domain_name",
        "sasl_kerberos_service_name",
        "sasl_oauth_token_provider",
        "self",
        "topics",
        "value_deserializer",
        "value_serializer",
    }
)
"""Arguments that decide what is lost and what comes twice, or that no text can give."""


def extra_fault(client: Client, name: str, value: Setting) -> str | None:
    """Why this setting cannot be given to the client; None when it can. Names the setting and what to do."""
    if name in _KEYS:
        return f"{name}: set {_KEYS[name]} instead"
    if name in _OURS:
        return f"{name}: is not for the configuration to set; remove it"
    defaults = _defaults(client)
    if name not in defaults:
        close = difflib.get_close_matches(name, sorted(defaults.keys() - _OURS), n=1)
        meant = f"; did you mean {_KEYS.get(close[0], close[0])}?" if close else ""
        return f"{name}: aiokafka's {client} has no such setting{meant}"
    return _kind_fault(name, value, defaults[name])


def _kind_fault(name: str, value: Setting, default: object) -> str | None:
    wanted = {bool: "true or false", int: "a whole number", str: "text"}
    for kind, words in wanted.items():
        if isinstance(default, kind):
            return None if type(value) is kind else f"{name}: must be {words}, as its default {default!r}"
    return None  # of a default that is None nothing follows


def _defaults(client: Client) -> dict[str, object]:
    """Arguments of the client with their defaults, as the installed library has them."""
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # takes a while, and few configurations ask

    made = AIOKafkaProducer if client == "producer" else AIOKafkaConsumer
    return {name: parameter.default for name, parameter in inspect.signature(made.__init__).parameters.items()}
