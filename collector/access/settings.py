"""The `access` section of the configuration."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from collector.config_section import Section

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class ProxySettings(Section):
    """A proxy in front that signs people in. It must remove these headers from what comes from outside."""

    header: str | None = Field("X-Forwarded-User", description="header that names who is signed in; null: none does")
    trusted_proxies: tuple[str, ...] = Field(
        min_length=1,
        description="addresses or networks (10.1.0.0/16) of the proxy; from others its headers are ignored",
    )
    tenants_header: str | None = Field(
        None, description="header with the person's tenants, separated by commas; where left out, all are seen"
    )
    read_only: bool = Field(False, description="people signed in by the proxy may change nothing")

    @field_validator("header", "tenants_header")
    @classmethod
    def _is_a_header(cls, name: str | None) -> str | None:
        if name is not None and not _HEADER.fullmatch(name):
            raise ValueError("must be the name of a header, as X-Forwarded-User")
        return name

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        for one in networks:
            try:
                wide = ipaddress.ip_network(one, strict=False).prefixlen == 0
            except ValueError as error:
                raise ValueError(f"{one!r} is no address or network: {error}") from error
            if wide:
                raise ValueError(f"{one!r} is everybody: anyone could say who they are")
        return networks

    @model_validator(mode="after")
    def _somebody_has_the_tenants(self) -> ProxySettings:
        if self.tenants_header is not None and self.header is None:
            raise ValueError("tenants_header is of no use without header: nobody is signed in by the proxy")
        return self


class AccessSettings(Section):
    """Who may use the page and the API. Without tokens_file and proxy, only this machine may (docs/access.md)."""

    tokens_file: Path | None = Field(
        None, description="YAML file of bearer tokens, read again when it changes; `spanjudge token` makes entries"
    )
    proxy: ProxySettings | None = None
    session_hours: float = Field(
        12, gt=0, le=24 * 365, allow_inf_nan=False, description="a browser stays signed in this long"
    )
    session_key_file: Path | None = Field(
        None,
        description="file with 32 or more random bytes that sign sessions of browsers; replicas share it. Where left "
        "out, one is made at each start, and people sign in again",
    )
    metrics: Literal["open", "token"] = Field(
        "open", description="whether /metrics asks for a token, of somebody who may see all tenants"
    )
    origins: tuple[str, ...] = Field(
        (), description="https://name:port that browsers see, where a proxy in front hands on another Host header"
    )

    @field_validator("origins")
    @classmethod
    def _are_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for one in origins:
            parts = urlsplit(one)
            if parts.scheme not in {"http", "https"} or f"{parts.scheme}://{parts.netloc}" != one or not parts.netloc:
                raise ValueError(f"{one!r} must be scheme://name:port and nothing more, as https://judge.example")
        return tuple(one.lower() for one in origins)

    @model_validator(mode="after")
    def _metrics_can_be_had(self) -> AccessSettings:
        if self.metrics == "token" and not self.configured:
            raise ValueError("metrics: token needs tokens_file, or nobody could read them")
        return self

    @property
    def configured(self) -> bool:
        """Whether anybody can be told apart."""
        return self.tokens_file is not None or (self.proxy is not None and self.proxy.header is not None)
