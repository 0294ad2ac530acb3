"""Looking at files while the process runs, and telling of certificates that end."""

from __future__ import annotations

import asyncio
import datetime
from pathlib import Path

from structlog.testing import capture_logs

from collector.metrics import Metrics
from collector.tls.guard import Guard
from collector.tls.served import ServedTls
from tests.certificates import Authority
from tests.eventually import eventually
from tests.fakes.clock import FakeClock
from tests.fakes.tls import ListenerFiles

DAY_S = 86_400


def _now() -> FakeClock:
    return FakeClock(int(datetime.datetime.now(datetime.UTC).timestamp() * 1e9))


async def test_it_looks_by_itself(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = ListenerFiles(tmp_path / "served").take(authority.issue("first"))
    served = ServedTls(files.settings(), "admin.tls")
    first = served.now
    running = asyncio.create_task(Guard(_now(), Metrics(), admin=served, look_s=0.01).run())
    files.take(authority.issue("second"))

    async def is_new() -> bool:
        return served.now is not first

    await eventually(is_new, "the new certificate is taken")
    running.cancel()


async def test_an_end_that_is_near_is_told_once_a_day_and_with_each_certificate(tmp_path: Path) -> None:
    authority, clock = Authority(tmp_path), _now()
    files = ListenerFiles(tmp_path / "served").take(authority.issue("first", ends=datetime.timedelta(days=10)))
    with capture_logs() as logged:
        guard = Guard(clock, Metrics(), admin=ServedTls(files.settings(), "admin.tls"))
        told: list[str] = []

        async def look() -> int:
            """How often it is told when it looks now."""
            await guard.look()
            told[:] = [one["problem"] for one in logged if one["event"] == "certificate_expires"]
            logged.clear()
            return len(told)

        assert await look() == 0  # ten days of eleven are left
        clock.advance(8 * DAY_S)
        assert await look() == 1
        assert told[0].startswith("admin.tls.cert_file: the certificate expires at ")
        assert await look() == 0
        clock.advance(DAY_S)
        assert await look() == 1
        files.take(authority.issue("second", ends=datetime.timedelta(days=9, hours=1)))
        assert await look() == 1
        clock.advance(2 * DAY_S)
        assert await look() == 1
        assert told[0].startswith("admin.tls.cert_file: the certificate expired at ")


async def test_the_same_trouble_is_logged_once(tmp_path: Path) -> None:
    files = ListenerFiles(tmp_path / "served").take(Authority(tmp_path).issue("first"))
    guard = Guard(_now(), Metrics(), admin=ServedTls(files.settings(), "admin.tls"))
    whole = files.certificate.read_bytes()
    with capture_logs() as logged:
        files.certificate.write_text("broken")
        await guard.look()
        await guard.look()
        files.certificate.write_bytes(whole)
        await guard.look()
    assert [one["event"] for one in logged] == ["credentials_unusable", "credentials_as_before"]


async def test_with_nothing_to_look_at_it_ends(tmp_path: Path) -> None:
    await Guard(_now(), Metrics()).run()
