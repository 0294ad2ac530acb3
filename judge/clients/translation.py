"""What the SDK raises, as what the caller should do next. Nowhere else are its errors looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import anthropic

from judge.describe import shorten
from judge.errors import Concern, JudgeError, JudgeMisconfigured, JudgeUnavailable

CONCERNS: Mapping[int, Concern] = {401: "account", 402: "account", 403: "model", 404: "model"}
"""How far a refusal reaches. A key may lack the permission for one model; a model's name may be wrong."""
NOT_AUTHORISED = frozenset({401, 402, 403})
WORTH_RETRYING = frozenset({408, 409, 429})
"""Beside every 5xx, 529 (overloaded) among them."""
PERHAPS_BILLED = frozenset({408, 502, 504})
"""Somebody between us and the model gave up waiting: the model may have done the work all the same."""
_NEVER_SENT = frozenset(
    {"NoneType", "ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol"}
)
"""Transport errors before a request has left."""
_NEVER_CONNECTED = frozenset({"ConnectTimeout", "PoolTimeout"})
_TRANSPORT = ("httpx.", "httpx2.")
"""The SDK lets these through where an answer is read bit by bit."""
_CREDENTIALS = ("botocore.", "boto3.", "google.auth.")
"""Packages that sign requests for Bedrock and Vertex, and raise errors of their own."""
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}

_KEY_HEADERS = ("x-api-key", "authorization")
_MIN_KEY = 8  # what is shorter may be a part of any word

NO_MESSAGE = "the endpoint answered with something that is no message"


def translated(error: Exception, timeout_s: float) -> JudgeError | None:
    """None for an error that is a defect of ours."""
    match error:
        case anthropic.APITimeoutError() | TimeoutError():
            billed = type(error.__cause__).__name__ not in _NEVER_CONNECTED
            return JudgeUnavailable("judge_unavailable", f"no answer within {timeout_s:g} s", perhaps_billed=billed)
        case anthropic.APIConnectionError():
            cause = f" ({type(error.__cause__).__name__})" if error.__cause__ else ""
            # A connection that breaks later may have carried a request that is answered, and paid for.
            billed = type(error.__cause__).__name__ not in _NEVER_SENT
            return JudgeUnavailable("judge_unavailable", f"cannot reach the endpoint{cause}", perhaps_billed=billed)
        case anthropic.APIStatusError():
            return _translated_status(error)
        case anthropic.APIError() | json.JSONDecodeError():
            return JudgeUnavailable("judge_unavailable", NO_MESSAGE, perhaps_billed=True)
        case ModuleNotFoundError(name=str(missing)):
            return JudgeMisconfigured("judge_not_authorised", f"the package {missing} is not installed", "account")
        case anthropic.AnthropicError() | ValueError():
            # Refused before it is sent: no credentials, a parameter that the SDK does not accept.
            return JudgeMisconfigured("judge_request_rejected", _told(error))
    module = f"{type(error).__module__}."
    if module.startswith(_TRANSPORT):
        name = type(error).__name__
        billed = name not in _NEVER_SENT
        return JudgeUnavailable("judge_unavailable", f"the connection broke ({name})", perhaps_billed=billed)
    if module.startswith(_CREDENTIALS):
        return JudgeMisconfigured("judge_not_authorised", _told(error), "account")
    return None


def translated_type(kind: str, message: str) -> JudgeError:
    """An error that came inside an answer, as those of a batch's requests do."""
    detail = f"{kind}: {shorten(message)}"
    status = _STATUS_OF_TYPE.get(kind)
    return JudgeUnavailable("judge_unavailable", detail) if status is None else _misconfigured(status, detail)


def _translated_status(error: anthropic.APIStatusError) -> JudgeError:
    status = error.status_code
    if 300 <= status < 400:
        # A proxy's login, or a service that moved: not the fault of the question, and over when somebody acts.
        return JudgeUnavailable("judge_unavailable", f"{status} the endpoint redirects elsewhere; see judge.base_url")
    said = ": ".join(part for part in (error.type, error.api_message) if part)
    said = _without_key(said, error.response.request.headers)
    request = f" (request {error.request_id})" if error.request_id else ""
    detail = f"{status} {shorten(said)}{request}"
    if status in WORTH_RETRYING or status >= 500:
        after_s = _retry_after_s(error.response.headers)
        return JudgeUnavailable("judge_unavailable", detail, after_s, perhaps_billed=status in PERHAPS_BILLED)
    return _misconfigured(status, detail)


def _without_key(said: str, sent: Mapping[str, str]) -> str:
    """An endpoint that refuses a key may repeat it, and what it said is shown to people."""
    for name in _KEY_HEADERS:
        key = sent.get(name, "").removeprefix("Bearer ").strip()
        said = said.replace(key, "***") if len(key) >= _MIN_KEY else said
    return said


def _misconfigured(status: int, detail: str) -> JudgeMisconfigured:
    reason = "judge_not_authorised" if status in NOT_AUTHORISED else "judge_request_rejected"
    return JudgeMisconfigured(reason, detail, CONCERNS.get(status, "request"))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {shorten(str(error))}"


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds from `retry-after-ms`, or from `retry-after` as seconds or as a date; None when absent or unreadable."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return _not_negative(float(milliseconds) / 1000)
        after = headers.get("retry-after")
        return None if after is None else _not_negative(float(after))
    except ValueError:
        pass
    try:
        # The sender's own date says what it takes for now; our clock may differ.
        wait = parsedate_to_datetime(headers["retry-after"]) - parsedate_to_datetime(headers["date"])
        return _not_negative(wait.total_seconds())
    except (KeyError, ValueError, TypeError):
        return None


def _not_negative(seconds: float) -> float | None:
    return seconds if 0 <= seconds < float("inf") else None
