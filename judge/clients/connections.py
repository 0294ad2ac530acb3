"""The SDK's client for wherever the models are: the Anthropic API or an endpoint that speaks it, Bedrock, Vertex AI."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import TypeAlias

import anthropic

Client: TypeAlias = anthropic.AsyncAnthropic | anthropic.AsyncAnthropicBedrock | anthropic.AsyncAnthropicVertex


@dataclass(frozen=True, slots=True)
class AnthropicApi:
    api_key: str = field(repr=False)
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class Bedrock:
    """Without an `api_key` requests are signed with what boto3 finds: a profile, the environment, the machine's
    role."""

    region: str
    api_key: str | None = field(default=None, repr=False)
    profile: str | None = None
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class Vertex:
    """Without an `access_token` google-auth finds the credentials: the environment, gcloud, the machine's account."""

    project_id: str
    region: str
    access_token: str | None = field(default=None, repr=False)
    base_url: str | None = None


Place: TypeAlias = AnthropicApi | Bedrock | Vertex


def connect(place: Place, authorities: ssl.SSLContext | None = None) -> Client:
    """Opens no connection yet. `authorities` are those that may sign the endpoint, None for the well-known ones.

    No retries: the SDK would sleep inside the call for as long as Retry-After says, holding one of few places; our
    queue waits durably instead. No spans of the SDK's own: sent to the Collector beside us, they would come back to be
    judged. No redirects: what is asked holds a session, which is for the endpoint that was configured and no other.
    """
    verify = True if authorities is None else authorities
    http = anthropic.DefaultAsyncHttpxClient(follow_redirects=False, verify=verify)
    match place:
        case AnthropicApi():
            return anthropic.AsyncAnthropic(
                api_key=place.api_key,
                base_url=place.base_url,
                max_retries=0,
                http_client=http,
                open_telemetry=False,
            )
        case Bedrock():
            return anthropic.AsyncAnthropicBedrock(
                aws_region=place.region,
                api_key=place.api_key,
                aws_profile=place.profile,
                base_url=place.base_url,
                max_retries=0,
                http_client=http,
                open_telemetry=False,
            )
        case Vertex():
            return anthropic.AsyncAnthropicVertex(
                project_id=place.project_id,
                region=place.region,
                access_token=place.access_token,
                base_url=place.base_url,
                max_retries=0,
                http_client=http,
                open_telemetry=False,
            )
