"""The reference of the configuration, written from its model.

`python -m collector.config_docs > docs/configuration.md` writes the file; a test compares it with what this gives.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from collector.config import Config
from collector.in_force import LIVE
from collector.tls_config import ListenerTls

_HEAD = """\
# Configuration

<!-- Written by `python -m collector.config_docs > docs/configuration.md`; a test compares the two. -->

`spanjudge run -c FILE` reads one YAML file. Every key may be left out; unknown keys are errors. Check a file, with
its suites, without starting anything:

```sh
spanjudge check-config examples/spanjudge.yaml
```

Every problem is told at once, with its line and key. Paths are relative to the file. In any text value
`${env:NAME}` stands for an environment variable and `${env:NAME:-default}` for one that may be missing; secrets
belong there. `spanjudge config-schema` prints a JSON Schema for editors. The judge's key may also come from
`ANTHROPIC_API_KEY`.

Durations are in seconds. What is refused for want of room is answered with UNAVAILABLE (gRPC) or 503 (HTTP) and a
time to wait, so that senders keep it.

## Changing it while the server runs

SIGHUP (`systemctl reload` with `ExecReload=/bin/kill -HUP $MAINPID`, or `kill -HUP`) has the file read again, with the
suites and rubrics it names. LIVE_SECTIONS take effect for
sessions that close from then on; those being evaluated finish under the rules before. Where anything is wrong, the log
has each problem with file, line and key (`config_problem`), all of it stays as it was, and
`spanjudge_config_reloads_total{outcome="failure"}` goes up; `spanjudge_config_last_reload_success_timestamp_seconds`
is when the configuration in force was read. Other keys are read at the start only: the log names those that differ
(`config_needs_restart`). A higher sampling rate judges sessions that are under way by what arrives from then on.
"""


def _head() -> str:
    *most, last = (f"`{name}`" for name in LIVE)
    live = f"{', '.join(most)} and {last}"
    return _HEAD.replace("LIVE_SECTIONS", live)


def reference() -> str:
    """The whole page, as Markdown."""
    return "\n".join([_head(), *_section("", Config)])


def schema() -> dict[str, Any]:
    """JSON Schema of the configuration file."""
    document = Config.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document, "title": "SpanJudge configuration"}


def _section(key: str, model: type[BaseModel]) -> Iterator[str]:
    rows, inner = [], []
    for name, field in model.model_fields.items():
        nested = _model_of(field.annotation)
        path = f"{key}.{name}" if key else name
        if nested is None:
            rows.append(f"| `{name}` | {_type(field)} | {_default(name, field)} | {field.description or ''} |")
        else:
            inner.append((path, nested, field))
    yield f"## {f'`{key}`' if key else 'Top level'}\n"
    if key and model.__doc__ and model.__doc__ != BaseModel.__doc__:
        yield f"{' '.join(model.__doc__.split())}\n"
    if rows:
        yield "| key | type | default | meaning |\n|---|---|---|---|"
        yield "\n".join(rows) + "\n"
    if inner and not key:
        yield "Sections: " + ", ".join(f"`{path}`" for path, _, _ in inner) + ".\n"
    for path, nested, field in inner:
        many = _is_mapping(field.annotation)
        yield from _listener(path, nested, field) or _section(f"{path}.<name>" if many else path, nested)
        if nested.__name__ == "Listener":
            yield from _section(f"{path}.tls", ListenerTls)


def _listener(key: str, model: type[BaseModel], field: FieldInfo) -> list[str]:
    """A section whose keys are those of a default, where only the default differs between the places it stands in."""
    if model.__name__ != "Listener":
        return []
    default: Any = field.default
    return [
        f"## `{key}`\n\n| key | type | default | meaning |\n|---|---|---|---|\n"
        + "\n".join(
            f"| `{name}` | {_type(inner)} | {_value(getattr(default, name))} | {inner.description or ''} |"
            for name, inner in model.model_fields.items()
            if _model_of(inner.annotation) is None
        )
        + "\n"
    ]


def _is_mapping(annotation: Any) -> bool:
    return typing.get_origin(annotation) is dict


def _model_of(annotation: Any) -> type[BaseModel] | None:
    """The section that a field holds, alone, optionally, or by name."""
    for part in (annotation, *typing.get_args(annotation)):
        if isinstance(part, type) and issubclass(part, BaseModel):
            return part
    return None


def _type(field: FieldInfo) -> str:
    return f"{_type_text(field.annotation)}{_bounds(field)}"


def _type_text(annotation: Any) -> str:
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if origin is Literal:
        return " \\| ".join(f"`{value}`" for value in arguments)
    if origin in {typing.Union, types.UnionType}:
        return _type_text(next(part for part in arguments if part is not type(None)))
    if origin is tuple:
        return f"list of {_type_text(arguments[0])}"
    if origin is dict:
        return f"mapping to {_type_text(arguments[1])}"
    if origin is typing.Annotated:
        return _type_text(arguments[0])
    names = {
        str: "text",
        int: "whole number",
        float: "number",
        bool: "true or false",
        Path: "path",
        SecretStr: "secret",
    }
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _bounds(field: FieldInfo) -> str:
    texts = []
    for limit in field.metadata:
        match limit:
            case Gt(gt=value):
                texts.append(f"above {value:g}")
            case Ge(ge=value):
                texts.append(f"{value:g} or more")
            case Lt(lt=value):
                texts.append(f"below {value:g}")
            case Le(le=value):
                texts.append(f"at most {value:g}")
            case _:
                continue
    return f", {', '.join(texts)}" if texts else ""


def _default(name: str, field: FieldInfo) -> str:
    if field.default_factory is not None:
        return "none"
    if field.default is PydanticUndefined:
        return "required"
    if name.endswith("_bytes") and field.default is not None:
        return f"`{field.default}` ({_binary(field.default)})"
    return _value(field.default)


def _value(value: Any) -> str:
    match value:
        case None | ():
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case tuple():
            return ", ".join(f"`{item}`" for item in value)
        case _:
            return f"`{value}`"


def _binary(value: int) -> str:
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 1 << power and value % (1 << power) == 0:
            return f"{value >> power} {unit}"
    return str(value)


if __name__ == "__main__":
    sys.stdout.write(reference())
