"""What the SDK raises, as what the caller should do next. Nowhere else are its errors looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import anthropic

from judge.describe import shorten
from judge.errors import JudgeError, JudgeMisconfigured, JudgeUnavailable

NOT_AUTHORISED = frozenset({401, 402, 403})
WORTH_RETRYING = frozenset({408, 409, 429})
"""Beside every 5xx, 529 (overloaded) among them."""
_NEVER_SENT = frozenset(
    {"NoneType", "ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol"}
)
"""Transport errors before a request has left."""
_CREDENTIALS = ("botocore.", "boto3.", "google.auth.")
"""Packages that sign requests for Bedrock and Vertex, and raise errors of their own."""
_REJECTED_TYPES = frozenset({"invalid_request_error", "not_found_error", "request_too_large"})
_REFUSED_TYPES = frozenset({"authentication_error", "billing_error", "permission_error"})

NO_MESSAGE = "the endpoint answered with something that is no message"


def translated(error: Exception, timeout_s: float) -> JudgeError | None:
    """None for an error that is a defect of ours."""
    match error:
        case anthropic.APITimeoutError() | TimeoutError():
            return JudgeUnavailable("judge_unavailable", f"no answer within {timeout_s:g} s", perhaps_billed=True)
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
            return JudgeMisconfigured("judge_not_authorised", f"the package {missing} is not installed")
        case anthropic.AnthropicError() | ValueError():
            # Refused before it is sent: no credentials, a parameter that the SDK does not accept.
            return JudgeMisconfigured("judge_request_rejected", _told(error))
    if f"{type(error).__module__}.".startswith(_CREDENTIALS):
        return JudgeMisconfigured("judge_not_authorised", _told(error))
    return None


def translated_type(kind: str, message: str) -> JudgeError:
    """An error that came inside an answer, as those of a batch's requests do."""
    detail = f"{kind}: {shorten(message)}"
    if kind in _REFUSED_TYPES:
        return JudgeMisconfigured("judge_not_authorised", detail)
    if kind in _REJECTED_TYPES:
        return JudgeMisconfigured("judge_request_rejected", detail)
    return JudgeUnavailable("judge_unavailable", detail)


def _translated_status(error: anthropic.APIStatusError) -> JudgeError:
    status = error.status_code
    said = ": ".join(part for part in (error.type, error.api_message) if part)
    request = f" (request {error.request_id})" if error.request_id else ""
    detail = f"{status} {shorten(said)}{request}"
    if status in WORTH_RETRYING or status >= 500:
        return JudgeUnavailable("judge_unavailable", detail, _retry_after_s(error.response.headers))
    reason = "judge_not_authorised" if status in NOT_AUTHORISED else "judge_request_rejected"
    return JudgeMisconfigured(reason, detail)


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
