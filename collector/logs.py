"""Structured logs on standard error: events with fields, session ids but never content."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

import structlog

from collector.config import Log
from collector.secret_text import without
from judge.redaction import NOTHING, Redaction


def set_up_logs(settings: Log, redaction: Redaction = NOTHING, secrets: Sequence[str] = ()) -> None:
    """JSON lines, or readable lines, from `level` up. Also for the libraries that use `logging`. `redaction` and
    `secrets` (those of the configuration) are for what errors say: the words of a library may repeat what it choked on.
    May be called again with other settings."""
    level = getattr(logging, settings.level.upper())
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]

    def mask(_logger: object, _method: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
        return {
            key: without(redaction.text(value), secrets) if isinstance(value, str) else value
            for key, value in event.items()
        }

    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            exception_formatter=structlog.dev.plain_traceback,  # the rich one prints local variables: content
        )
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,  # asks `logging`, so that loggers in use follow a change
            *shared,
            structlog.processors.format_exc_info,
            mask,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.processors.format_exc_info, mask],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for chatty in ("httpx", "httpx2", "httpcore", "httpcore2", "anthropic", "uvicorn.error", "grpc", "aiokafka"):
        logging.getLogger(chatty).setLevel(max(level, logging.WARNING))
