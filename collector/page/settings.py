"""The `page` section of the configuration."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from collector.config_section import Section

_PLACE = re.compile(r"\{([A-Za-z_]+)\}")
_PLACES = frozenset({"trace_id", "span_id"})


class PageSettings(Section):
    """The page for people, on the admin listener."""

    enabled: bool = True
    public_url: str | None = Field(
        None,
        description="where people reach the page, as https://spanjudge.example, without a path; for links to send",
    )
    trace_url: str | None = Field(
        None,
        description="of one trace in your trace back-end; {trace_id} and {span_id} are filled in, as "
        "https://jaeger.example/trace/{trace_id}?uiFind={span_id}",
    )
    suite_file: Path | None = Field(
        None, description="suite that the page may add cases to; without it, it only shows their text"
    )

    @field_validator("public_url", "trace_url")
    @classmethod
    def _is_a_web_address(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.netloc or not url.isprintable() or " " in url:
            raise ValueError("must be a web address that begins with http:// or https://")
        return url

    @field_validator("public_url")
    @classmethod
    def _is_a_whole_site(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.path.strip("/") or "?" in url or "#" in url or "@" in parts.netloc:
            # Links within the page begin with /sessions, and cookies and origins are those of the whole name.
            raise ValueError(
                "must be scheme://name:port alone: the page needs a name of its own, not a path of another"
            )
        return f"{parts.scheme}://{parts.netloc}"

    @field_validator("trace_url")
    @classmethod
    def _names_the_trace(cls, url: str | None) -> str | None:
        if url is None:
            return None
        if (
            "{" in urlsplit(url.replace("{trace_id}", "").replace("{span_id}", "")).netloc
            or "{" in urlsplit(url).netloc
        ):
            raise ValueError("must not be made of ids before its path")
        if unknown := [name for name in _PLACE.findall(url) if name not in _PLACES]:
            raise ValueError(f"has {{{unknown[0]}}}: only {{trace_id}} and {{span_id}} are filled in")
        if "{trace_id}" not in url:
            raise ValueError("must have {trace_id} where the id of the trace belongs")
        return url

    @field_validator("suite_file")
    @classmethod
    def _is_yaml(cls, file: Path | None) -> Path | None:
        if file is not None and file.suffix not in {".yaml", ".yml"}:
            raise ValueError("must be a .yaml file")
        return file
