"""Sections about TLS and tokens: certificates of listeners, of what we connect to, and who may send."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from collector.config_section import Section


class ListenerTls(Section):
    """Certificates, as PEM files, read again when they change. Without this section the listener speaks plain text."""

    cert_file: Path = Field(description="our certificate, followed by those that lead to its authority")
    key_file: Path = Field(description="its key, not encrypted")
    client_ca_file: Path | None = Field(
        None, description="authorities of clients: who shows no certificate of theirs is refused (mTLS)"
    )
    min_version: Literal["1.2", "1.3"] = Field("1.2", description="oldest TLS that is spoken")


class ReceiverAuth(Section):
    """Who may send telemetry over OTLP, gRPC and HTTP alike."""

    tokens_file: Path = Field(description="bearer tokens; docs/security.md describes the file. Read again on change")


class ExportTls(Section):
    """How the receiver is known, and how it knows us: PEM files, read again when they change."""

    ca_file: Path | None = Field(None, description="authorities of the receiver; well-known ones where left out")
    cert_file: Path | None = Field(None, description="our certificate, where the receiver asks for one")
    key_file: Path | None = Field(None, description="its key, not encrypted")
    server_name: str | None = Field(
        None, min_length=1, description="name in the receiver's certificate, where the endpoint has another"
    )
    insecure_skip_verify: bool = Field(False, description="cannot be true: certificates are always checked")

    @field_validator("key_file")
    @classmethod
    def _comes_with_its_certificate(cls, key: Path | None, info: ValidationInfo) -> Path | None:
        if (key is None) != (info.data.get("cert_file") is None):
            missing = "key_file" if key is None else "cert_file"
            raise ValueError(f"cert_file and key_file go together: add {missing}")
        return key

    @field_validator("insecure_skip_verify")
    @classmethod
    def _is_not_offered(cls, skip: bool) -> bool:
        if skip:
            raise ValueError("is not offered: set ca_file to the receiver's authority, server_name to its name")
        return skip
