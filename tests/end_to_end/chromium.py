"""The machine's Chromium."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from tests.integrations import require

CHROMIUM = Path("/usr/bin/chromium")
_FOUND = CHROMIUM.exists()
_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Skips the test, or fails it where it is required, when there is none."""
    require("chromium", _FOUND, "apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*_ARGUMENTS])
        yield browser
        await browser.close()
