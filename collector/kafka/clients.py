"""Clients of Kafka as the configuration wants them, and starting them while Kafka may still be on its way."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import InvalidSessionTimeoutError, KafkaError

from collector.kafka.errors import KafkaNotReached, KafkaUnusable
from collector.kafka.settings import KafkaSettings, KafkaTls

log = structlog.get_logger(__name__)

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 5.0
_REFUSALS = ("CERTIFICATE_VERIFY_FAILED", "Authentication failed")
_METADATA_MS = 30_000  # a topic that was away is noticed this soon, rather than after five minutes
_STOP_S = 10.0  # a client that is stopped flushes, which takes for ever when no broker answers


class KafkaClients:
    """Makes clients; they are not started. Belongs to a running event loop."""

    def __init__(self, settings: KafkaSettings) -> None:
        """Reads the certificates. Raises `KafkaUnusable`, naming the key, when that cannot be done."""
        self.settings = settings
        self._reach: dict[str, Any] = {
            "bootstrap_servers": list(settings.bootstrap_servers),
            "client_id": settings.client_id,
            "request_timeout_ms": _ms(settings.request_seconds),
            "security_protocol": settings.security_protocol,
        }
        if settings.security_protocol.endswith("SSL"):
            self._reach["ssl_context"] = _tls(settings)
        if settings.sasl_mechanism is not None and settings.password is not None:
            self._reach |= {
                "sasl_mechanism": settings.sasl_mechanism,
                "sasl_plain_username": settings.username,
                "sasl_plain_password": settings.password.get_secret_value(),
            }

    def admin(self) -> AIOKafkaAdminClient:
        return AIOKafkaAdminClient(**self._reach)

    def producer(self, transactional_id: str | None = None, *, most_bytes: int | None = None) -> AIOKafkaProducer:
        """Idempotent, acknowledged by all replicas in sync; with an id it writes in transactions only. Its partitioner
        is Java's: murmur2 of the key. `most_bytes` is what the topics take at once (`Layout.most_bytes`), where that is
        less than the configuration allows."""
        settings = self.settings
        batch_bytes = settings.batch_bytes if most_bytes is None else min(settings.batch_bytes, most_bytes)
        with _naming("kafka.extra.producer"):
            return AIOKafkaProducer(
                **self._reach,
                acks="all",
                enable_idempotence=True,
                transactional_id=transactional_id,
                compression_type=None if settings.compression == "none" else settings.compression,
                max_request_size=settings.max_message_bytes,
                max_batch_size=batch_bytes,
                linger_ms=_ms(settings.linger_seconds),
                **settings.extra.producer,
            )

    def consumer(
        self,
        group: str | None = None,
        assignor: type[AbstractPartitionAssignor] = RangePartitionAssignor,
        *,
        isolation: Literal["read_committed", "read_uncommitted"] = "read_committed",
    ) -> AIOKafkaConsumer:
        """Of no topic yet; commits only what it is told to. Members of a group share out partitions by
        their `assignor`, of which all need the same kind."""
        settings = self.settings
        usual: dict[str, Any] = {"metadata_max_age_ms": _METADATA_MS}
        with _naming("kafka.extra.consumer"):
            return AIOKafkaConsumer(
                **self._reach,
                group_id=group,
                group_instance_id=settings.instance_id if group is not None else None,
                enable_auto_commit=False,
                auto_offset_reset="earliest",  # who begins a partition looks itself where; this is for offsets gone by
                isolation_level=isolation,
                max_partition_fetch_bytes=settings.fetch_bytes,
                partition_assignment_strategy=(assignor,),
                session_timeout_ms=_ms(settings.session_timeout_seconds),
                heartbeat_interval_ms=_ms(settings.heartbeat_seconds),
                rebalance_timeout_ms=_ms(settings.rebalance_timeout_seconds),
                max_poll_interval_ms=_ms(settings.poll_seconds),
                **(usual | settings.extra.consumer),
            )

    async def started(self, make: Callable[[], Any], within_s: float | None = None) -> Any:
        """A client that `make` makes, started; tried again until Kafka answers. Raises `KafkaNotReached` when it does
        not within `kafka.start_seconds` (or `within_s`)."""
        last = "no answer"
        wait_s = _FIRST_WAIT_S
        try:
            async with asyncio.timeout(self.settings.start_seconds if within_s is None else within_s):
                while True:
                    with _overheard() as said:
                        try:
                            return await _started(make())
                        except KafkaError as error:
                            last = said[-1] if said else str(error)
                    log.warning("kafka_not_reached", error=last, again_in_s=wait_s)
                    await asyncio.sleep(wait_s)
                    wait_s = min(_LONGEST_WAIT_S, wait_s * 2)
        except TimeoutError:
            servers = ", ".join(self.settings.bootstrap_servers)
            raise KafkaNotReached(f"Kafka at {servers} cannot be used: {last}{self._hint(last)}") from None

    def _hint(self, error: str) -> str:
        """A listener that is spoken to in another way than it expects hangs up, or waits for more."""
        if any(refused in error for refused in _REFUSALS):
            return ""
        protocol = self.settings.security_protocol
        return f"; is it there, and does its listener speak {protocol} (kafka.security_protocol)?"

    @asynccontextmanager
    async def administering(self, within_s: float | None = None) -> AsyncIterator[AIOKafkaAdminClient]:
        """An admin client for as long as the block runs. Raises `KafkaNotReached`."""
        admin = await self.started(self.admin, within_s)
        try:
            yield admin
        finally:
            await stop(admin)


async def stop(client: Any) -> None:
    """Stop a producer, consumer or admin client, within bounds, and whatever state it is in."""
    closing = client.close if isinstance(client, AIOKafkaAdminClient) else client.stop
    try:
        async with asyncio.timeout(_STOP_S):
            await closing()
    except (TimeoutError, KafkaError) as error:
        log.warning("kafka_client_not_stopped", error=f"{type(error).__name__}: {error}")


def read_fault(error: KafkaError) -> str:
    """Why a consumer can read nothing, with the key to look at where that is known."""
    told = f"{type(error).__name__}: {error}"
    if isinstance(error, InvalidSessionTimeoutError):
        told += "; brokers bound kafka.session_timeout_seconds (group.min.session.timeout.ms, group.max...)"
    return told


@contextmanager
def _naming(key: str) -> Iterator[None]:
    """Values are looked at when the client is made. Raises `KafkaUnusable`, naming the key."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise KafkaUnusable(f"{key}: {error}") from error


@contextmanager
def _overheard() -> Iterator[list[str]]:
    """What the client library logs as an error. It does not raise why a broker could not be connected to (refused,
    wrong password, unknown authority): it only says so there."""
    said: list[str] = []
    listener = logging.Handler(logging.ERROR)
    listener.emit = lambda record: said.append(record.getMessage().removesuffix(": "))  # type: ignore[method-assign]
    library = logging.getLogger("aiokafka")
    library.addHandler(listener)
    try:
        yield said
    finally:
        library.removeHandler(listener)


async def _started(client: Any) -> Any:
    try:
        await client.start()
    except BaseException:  # cancelled too: a client that is not stopped keeps its connections
        await stop(client)
        raise
    return client


def _tls(settings: KafkaSettings) -> ssl.SSLContext:
    tls = settings.tls
    context = _authorities(tls)
    if tls.certificate_file is not None:
        password = tls.key_password.get_secret_value() if tls.key_password else ""  # without one OpenSSL would ask
        try:
            context.load_cert_chain(tls.certificate_file, tls.key_file, password)
        except (OSError, ssl.SSLError) as error:
            files = " and ".join(str(file) for file in (tls.certificate_file, tls.key_file) if file)
            raise KafkaUnusable(f"kafka.tls.certificate_file, key_file: {files} cannot be used: {error}") from error
    return context


def _authorities(tls: KafkaTls) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=tls.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise KafkaUnusable(f"kafka.tls.ca_file: {tls.ca_file} cannot be used: {error}") from error


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
