"""A small Anthropic Messages service on loopback, strict about requests and scripted in its answers.

It serves from a thread, so that tests with and without an event loop and child processes can all use it. Nothing is
patched: clients are given its address. It also answers at the paths of Bedrock and Vertex AI, and takes message
batches, which end when the test says so.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.certificates import Pair

API_KEY = "stub-key"
ALLOWED = frozenset({"model", "max_tokens", "messages", "system", "output_config", "thinking", "metadata", "stream"})
EFFORTS = ("low", "medium", "high", "xhigh", "max")
MIN_CACHED_TOKENS = 1024
BATCHES = "/v1/messages/batches"
_MODEL_IN_PATH = re.compile(
    r"/model/(?P<bedrock>[^/]+)/invoke|/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/(?P<vertex>[^/:]+):rawPredict"
)


@dataclass(frozen=True)
class Reply:
    """One HTTP answer; `body` is sent as JSON unless it is text, header names are written with `_` for `-`.
    `hang` answers only when the stub closes; `cut` ends the connection in the middle of the body."""

    status: int
    body: Mapping[str, Any] | list[Any] | str
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False
    cut: bool = False


@dataclass(frozen=True)
class Request:
    """One request as received."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def offered(self) -> list[str]:
        """The labels in the form of the answer: those of other questions may be among them."""
        return list(self.body["output_config"]["format"]["schema"]["properties"]["label"]["enum"])

    @property
    def labels(self) -> list[str]:
        """Those that the question lists, best first; without a list, those in the form."""
        listed = re.findall(r"^- `([^`]+)`:", self.question.rpartition("\nLabels:\n")[2], re.MULTILINE)
        return [label for label in listed if label in self.offered] or self.offered

    @property
    def prefix(self) -> str:
        return str(self.body["messages"][0]["content"][0]["text"])

    @property
    def question(self) -> str:
        return str(self.body["messages"][0]["content"][-1]["text"])


Behaviour = Callable[[Request], Reply]


def says(label: str | None = None, reasoning: str = "Because the record shows it.") -> Behaviour:
    """A finished answer; without a label, the best one of the question's scale. To a question about steps: one step
    that was followed."""

    def behave(request: Request) -> Reply:
        if "steps" in request.body["output_config"]["format"]["schema"]["properties"]:
            step = {"step": "the only one", "evidence": "entry 1", "status": "followed"}
            return _message(request, json.dumps({"reasoning": reasoning, "steps": [step]}))
        return _message(request, json.dumps({"reasoning": reasoning, "label": label or request.labels[0]}))

    return behave


def writes(text: str, stop_reason: str = "end_turn", **rest: Any) -> Behaviour:
    """Any text with any stop reason."""
    return lambda request: _message(request, text, stop_reason, **rest)


def cut_off() -> Behaviour:
    """Stopped by max_tokens, in the middle of what would have been a well-formed No."""
    return writes('{"reasoning": "It did not", "label": "No"', "max_tokens")


def refuses(category: str | None = "cyber") -> Behaviour:
    details = {"type": "refusal", "category": category, "explanation": None}
    return lambda request: _message(request, "", "refusal", stop_details=details)


def fails(status: int, kind: str, message: str = "scripted", **headers: str) -> Behaviour:
    """An error of the service."""
    return lambda _: Reply(status, _error(kind, message), headers)


def rate_limited(retry_after: str | None = None) -> Behaviour:
    return fails(429, "rate_limit_error", **({} if retry_after is None else {"retry_after": retry_after}))


def overloaded() -> Behaviour:
    return fails(529, "overloaded_error")


def hangs() -> Behaviour:
    return lambda _: Reply(200, {}, hang=True)


def breaks_off() -> Behaviour:
    """The request was read, and the connection ends before its answer does."""
    return lambda request: replace(_message(request, "{"), cut=True)


def replies(status: int, body: Mapping[str, Any] | list[Any] | str, **headers: str) -> Behaviour:
    """Anything at all, also what no such service would say."""
    return lambda _: Reply(status, body, headers)


def expires() -> Behaviour:
    """In a batch: it ended before this question's turn came."""
    return lambda _: Reply(0, {"type": "expired"})


def now_and_then(trouble: Behaviour, otherwise: Behaviour, every: int) -> Behaviour:
    """Every so-many-th request meets the trouble."""
    seen = 0

    def behave(request: Request) -> Reply:
        nonlocal seen
        seen += 1
        return trouble(request) if seen % every == 0 else otherwise(request)

    return behave


@dataclass
class StubBatch:
    """`results` is None while the batch is under way."""

    requests: dict[str, Request]
    results: list[dict[str, Any]] | None = None


class AnthropicStub:
    """`with AnthropicStub() as stub:` serves until the block ends. `default` answers what the script does not. With a
    certificate it speaks TLS."""

    def __init__(self, default: Behaviour | None = None, tls: Pair | None = None) -> None:
        self.requests: list[Request] = []
        self.rejected: list[str] = []
        self.batches: dict[str, StubBatch] = {}
        self.default = default or says()
        self._script: deque[Behaviour] = deque()
        self._batch_trouble: deque[Behaviour] = deque()
        self._result_trouble: deque[Behaviour] = deque()
        self._cached: set[str] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls.certificate, tls.key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def script(self, *behaviours: Behaviour) -> None:
        """What to do with the next requests, in order."""
        with self._lock:
            self._script.extend(behaviours)

    def disturb_batches(self, *behaviours: Behaviour) -> None:
        """What to say in answer to the next batches, which are taken all the same."""
        with self._lock:
            self._batch_trouble.extend(behaviours)

    def disturb_results(self, *behaviours: Behaviour) -> None:
        """What to say when results are fetched next."""
        with self._lock:
            self._result_trouble.extend(behaviours)

    def __enter__(self) -> AnthropicStub:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: Request) -> Reply:
        """The reply to one request: the service's own checks first, then the script."""
        with self._lock:
            self.requests.append(request)
            if rejection := _rejection(request):
                self.rejected.append(str(rejection.body))
                return rejection
            if request.path == BATCHES:
                taken = self._take_batch(request)
                return self._batch_trouble.popleft()(request) if self._batch_trouble else taken
            behave = self._script.popleft() if self._script else self.default
            reply = behave(request)
            if isinstance(reply.body, dict) and reply.body.get("type") == "message":
                reply.body["usage"] |= self._input_usage(request)
        if reply.hang:
            self._closing.wait()
        return reply

    def outage(self, trouble: Behaviour | None = None) -> Callable[[], None]:
        """From now on every request meets the trouble (overload, unless told); the result of this ends it."""
        before = self.default
        self.default = trouble or overloaded()

        def end() -> None:
            self.default = before

        return end

    def end_batches(self) -> None:
        """Every batch under way ends: its requests are answered by script and default."""
        with self._lock:
            for batch in self.batches.values():
                if batch.results is None:
                    # Not in the order in which they came, as the service warns.
                    batch.results = [self._batch_result(*item) for item in reversed(batch.requests.items())]

    def get(self, path: str, headers: Mapping[str, str]) -> Reply:
        """The reply to a GET: a batch, or its results."""
        if refused := _not_authorised(headers):
            return refused
        with self._lock:
            name, _, rest = path.removeprefix(f"{BATCHES}/").partition("/")
            batch = self.batches.get(name)
            if batch is None or rest not in {"", "results"}:
                return Reply(404, _error("not_found_error", f"no such batch: {path}"))
            if not rest:
                return Reply(200, self._shown(name, batch))
            if self._result_trouble:
                return self._result_trouble.popleft()(next(iter(batch.requests.values())))
            lines = "".join(f"{json.dumps(result)}\n" for result in batch.results or [])
            return Reply(200, lines, {"content_type": "application/x-jsonl"})

    def _take_batch(self, request: Request) -> Reply:
        items = {item["custom_id"]: replace(request, body=item["params"]) for item in request.body["requests"]}
        name = f"msgbatch_{len(self.batches) + 1}"
        self.batches[name] = StubBatch(items)
        return Reply(200, self._shown(name, self.batches[name]))

    def _shown(self, name: str, batch: StubBatch) -> dict[str, Any]:
        ended = batch.results is not None
        kinds = [result["result"]["type"] for result in batch.results or []]
        counts = {kind: kinds.count(kind) for kind in ("succeeded", "errored", "canceled", "expired")}
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts | {"processing": 0 if ended else len(batch.requests)},
            "created_at": "2026-01-01T00:00:00Z",
            "expires_at": "2026-01-02T00:00:00Z",
            "ended_at": "2026-01-01T01:00:00Z" if ended else None,
            "results_url": f"{self.url}{BATCHES}/{name}/results" if ended else None,
        }

    def _batch_result(self, name: str, request: Request) -> dict[str, Any]:
        behave = self._script.popleft() if self._script else self.default
        reply = behave(request)
        assert isinstance(reply.body, dict)
        if reply.status == 0:
            return {"custom_id": name, "result": dict(reply.body)}
        if reply.status != 200:
            return {"custom_id": name, "result": {"type": "errored", "error": reply.body}}
        reply.body["usage"] |= self._input_usage(request)
        return {"custom_id": name, "result": {"type": "succeeded", "message": reply.body}}

    def _input_usage(self, request: Request) -> dict[str, int]:
        blocks = request.body["messages"][0]["content"]
        marked = [block for block in blocks if block.get("cache_control")]
        # Everything before the mark must be the same to be found again, and so must the output format.
        keys = ("model", "tools", "system", "output_config", "thinking")
        shared = json.dumps([request.body.get(key) for key in keys] + marked)
        cached = _tokens(shared) if marked and _tokens(shared) >= MIN_CACHED_TOKENS else 0
        hit = shared in self._cached
        if cached:
            self._cached.add(shared)
        return {
            "input_tokens": max(1, _tokens(json.dumps(request.body)) - cached),
            "cache_read_input_tokens": cached if hit else 0,
            "cache_creation_input_tokens": 0 if hit else cached,
        }


def _message(request: Request, text: str, stop_reason: str = "end_turn", **rest: Any) -> Reply:
    content = [{"type": "thinking", "thinking": "", "signature": "c3R1Yg=="}, {"type": "text", "text": text}]
    return Reply(
        200,
        {
            "id": "msg_stub",
            "type": "message",
            "role": "assistant",
            "model": request.body["model"],
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": _tokens(text) + 1},
            **rest,
        },
    )


def _not_authorised(headers: Mapping[str, str]) -> Reply | None:
    # Older SDKs send the key as `x-api-key`, newer ones as a bearer token; the service takes both.
    keys = (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))
    return None if API_KEY in keys else Reply(401, _error("authentication_error", "invalid API key"))


def _rejection(request: Request) -> Reply | None:
    if refused := _not_authorised(request.headers):
        return refused
    if request.path not in {"/v1/messages", BATCHES}:
        return Reply(404, _error("not_found_error", f"no such path: {request.path}"))
    fault = _batch_fault(request) if request.path == BATCHES else _fault(request)
    return Reply(400, _error("invalid_request_error", fault)) if fault else None


def _batch_fault(request: Request) -> str | None:
    """The service looks at the requests themselves only later."""
    items = request.body.get("requests")
    if not items:
        return "requests: Field required"
    names = [item.get("custom_id", "") for item in items]
    if len(set(names)) < len(names):
        return "requests: custom_id must be unique"
    odd = next((name for name in names if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)), None)
    if odd is not None:
        return f"requests: custom_id {odd!r} has the wrong form"
    faults = [_fault(replace(request, body=item["params"])) for item in items]
    return next((f"requests.params.{fault}" for fault in faults if fault), None)


def _as_sent_to_anthropic(request: Request) -> Request:
    """A request for Bedrock or Vertex AI, which have the model in the path and the version in the body."""
    found = _MODEL_IN_PATH.fullmatch(request.path)
    if not found:
        return request
    body = {"model": found["bedrock"] or found["vertex"]} | request.body
    version = body.pop("anthropic_version", None)
    headers = dict(request.headers) | ({"anthropic-version": version} if version else {})
    return Request("/v1/messages", headers, body)


def _fault(request: Request) -> str | None:
    body = request.body
    if "anthropic-version" not in request.headers:
        return "anthropic-version: header is required"
    if unknown := sorted(set(body) - ALLOWED):
        return f"{unknown[0]}: Extra inputs are not permitted"
    for key in ("model", "max_tokens", "messages"):
        if not body.get(key):
            return f"{key}: Field required"
    if body.get("thinking", {"type": "adaptive"}) not in ({"type": "adaptive"}, {"type": "disabled"}):
        return "thinking: only adaptive and disabled are supported"
    return _messages_fault(body["messages"]) or _output_fault(body.get("output_config", {}))


def _messages_fault(messages: list[dict[str, Any]]) -> str | None:
    if messages[0].get("role") != "user":
        return "messages: first message must use the user role"
    blocks = [block for message in messages for block in message["content"]]
    if any(block.get("type") == "text" and not block.get("text") for block in blocks):
        return "messages: text content blocks must be non-empty"
    if sum("cache_control" in block for block in blocks) > 4:
        return "cache_control: at most 4 blocks may be marked"
    return None


def _output_fault(config: dict[str, Any]) -> str | None:
    if config.get("effort", "high") not in EFFORTS:
        return "output_config.effort: unknown level"
    form = config.get("format")
    if form is None:
        return "output_config.format: this stub answers questions with a schema only"
    schema = form.get("schema", {})
    if form.get("type") != "json_schema" or schema.get("type") != "object":
        return "output_config.format: a json_schema of an object is required"
    if schema.get("additionalProperties") is not False:
        return "output_config.format.schema: additionalProperties must be false"
    if sorted(schema.get("required", [])) != sorted(schema.get("properties", {})):
        return "output_config.format.schema: every property must be required"
    text = json.dumps(schema)
    unsupported = ("minLength", "maxLength", "minimum", "maximum", "$ref")
    return next((f"output_config.format.schema: {word} is not supported" for word in unsupported if word in text), None)


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_stub"}


def _tokens(text: str) -> int:
    return len(text) // 4


def _handler(stub: AnthropicStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                body = json.loads(raw)
            except ValueError:
                self._send(Reply(400, _error("invalid_request_error", "the request body is not valid JSON")))
                return
            self._send(stub.answer(_as_sent_to_anthropic(Request(self.path, headers, body))))

        def do_GET(self) -> None:
            self._send(stub.get(self.path, {name.lower(): value for name, value in self.headers.items()}))

        def _send(self, reply: Reply) -> None:
            text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            usual = {"content-type": "application/json", "request-id": "req_stub"}
            sent = usual | {name.replace("_", "-"): value for name, value in reply.headers.items()}
            try:
                self.send_response_only(reply.status)
                for name, value in sent.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(text.encode()) + reply.cut))
                self.close_connection = self.close_connection or reply.cut
                self.end_headers()
                self.wfile.write(text.encode())
            except ConnectionError:
                self.close_connection = True  # the client gave up waiting, as scripted

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
            """Tests read `requests`, not a log."""

    return Handler
