"""What stands before the listeners of one process: their certificates and the tokens of senders, read again while the
process runs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import structlog

from collector.access.tokens import TokenFile
from collector.clock import Clock
from collector.config import Config, Listener, Receivers
from collector.metrics import Metrics
from collector.otlp.senders import Senders
from collector.tls.errors import CredentialsUnusable
from collector.tls.served import ServedTls
from collector.tls.validity import Validity
from judge.documents import DocumentError

log = structlog.get_logger(__name__)

_LOOK_S = 5.0
_DAY_S = 86_400.0
_SOON_S, _SOON_SHARE = 14 * _DAY_S, 0.2
"""An end is near in the last fifth of a certificate's life, or in its last fortnight where that is less."""

SENDERS = "receivers.auth.tokens_file"


class Guard:
    """`run` in a task of its own. `grpc`, `http` and `admin` are None for plain text, `senders` for whoever comes."""

    def __init__(
        self,
        clock: Clock,
        metrics: Metrics,
        *,
        grpc: ServedTls | None = None,
        http: ServedTls | None = None,
        admin: ServedTls | None = None,
        senders: Senders | None = None,
        look_s: float = _LOOK_S,
    ) -> None:
        self.grpc, self.http, self.admin = grpc, http, admin
        self.senders = senders
        self._clock = clock
        self._metrics = metrics
        self._look_s = look_s
        self._asked = asyncio.Event()
        self._served = {
            name: served for name, served in (("grpc", grpc), ("http", http), ("admin", admin)) if served is not None
        }
        self._problems: dict[str, str] = {}
        self._told_s: dict[str, tuple[str, float]] = {}
        for served in self._served.values():
            metrics.tls.watched(served.key)
        if senders is not None:
            metrics.tls.watched(SENDERS)
            metrics.tls.authenticating()
        self._show_expiry()

    def look_now(self) -> None:
        """Soon: somebody knows that files have changed."""
        self._asked.set()

    async def run(self) -> None:
        if not self._served and self.senders is None:
            return
        while True:
            await self.look()
            try:
                async with asyncio.timeout(self._look_s):
                    await self._asked.wait()
            except TimeoutError:
                continue
            self._asked.clear()

    async def look(self) -> None:
        """Take what is new and sound; of what is not, say so and keep what there was."""
        for served in self._served.values():
            try:
                new = await asyncio.to_thread(served.look, self._clock.now_ns() / 1e9)
            except CredentialsUnusable as error:
                self._broken(served.key, str(error))
                continue
            if new:
                self._metrics.tls.replaced(served.key)
                log.info("credentials_replaced", key=served.key)
            if self._problems.pop(served.key, None) is not None and not new:
                log.info("credentials_as_before", key=served.key)
            self._metrics.tls.usable(served.key, True)
        if self.senders is not None:  # which looks by itself when it is asked, and tells the log
            self._metrics.tls.usable(SENDERS, self.senders.problem() is None)
        self._show_expiry()

    def problem(self) -> str | None:
        """What somebody should look at: files that cannot be used, certificates at their end."""
        kept = [f"{problem}; what was read before is used" for problem in self._problems.values()]
        ending = [self._ending(served.key, served.now.validity) for served in self._served.values()]
        tokens = self.senders.problem() if self.senders is not None else None
        told = f"{SENDERS}: {tokens}" if tokens else None
        return "; ".join(filter(None, [*kept, *ending, told])) or None

    def _broken(self, key: str, problem: str) -> None:
        self._metrics.tls.usable(key, False)
        if self._problems.get(key) != problem:
            log.error("credentials_unusable", key=key, problem=problem, used="what was read before")
        self._problems[key] = problem

    def _show_expiry(self) -> None:
        now_s = self._clock.now_ns() / 1e9
        for name, served in self._served.items():
            validity = served.now.validity
            self._metrics.tls.expires(name, validity.not_after_s)
            serial, told_s = self._told_s.get(name, ("", 0.0))
            ending = self._ending(served.key, validity)
            if ending is not None and (serial != validity.serial or now_s - told_s >= _DAY_S):
                self._told_s[name] = (validity.serial, now_s)
                log.warning("certificate_expires", listener=name, problem=ending)

    def _ending(self, key: str, validity: Validity) -> str | None:
        left_s = validity.not_after_s - self._clock.now_ns() / 1e9
        if left_s > min(_SOON_S, _SOON_SHARE * (validity.not_after_s - validity.not_before_s)):
            return None
        at = datetime.fromtimestamp(validity.not_after_s, UTC).isoformat(timespec="seconds")
        return f"{key}.cert_file: the certificate {'expires' if left_s > 0 else 'expired'} at {at}"


def open_guard(config: Config, clock: Clock, metrics: Metrics) -> Guard:
    """Blocking. Raises `CredentialsUnusable` for files that cannot be used: nothing is served then."""
    receivers = config.receivers
    receives = config.role in {"all", "receiver"}
    return Guard(
        clock,
        metrics,
        grpc=_served(receivers.grpc, "receivers.grpc.tls") if receives else None,
        http=_served(receivers.http, "receivers.http.tls") if receives else None,
        admin=_served(config.admin, "admin.tls"),
        senders=_senders(receivers, metrics) if receives else None,
    )


def _served(listener: Listener, key: str) -> ServedTls | None:
    return ServedTls(listener.tls, key) if listener.enabled and listener.tls else None


def _senders(receivers: Receivers, metrics: Metrics) -> Senders | None:
    if receivers.auth is None:
        return None

    def on_read(good: bool) -> None:
        if good:
            metrics.tls.replaced(SENDERS)

    try:
        tokens = TokenFile(receivers.auth.tokens_file, on_read)
    except DocumentError as error:
        raise CredentialsUnusable(f"{SENDERS}: {error}") from error
    return Senders(tokens, metrics, by_attribute=receivers.tenant_attribute is not None)
