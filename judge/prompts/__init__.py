"""Prompts: files beside this module, one for each evaluator and version, and their rendering.

A file has the sections `# system`, `# prefix` and `# question`; `shared: v1` in its frontmatter takes the first two
from `shared.v1.md`, so that questions of several evaluators begin alike and a judge's cache can serve them all. A
shared file with `labels: listed` says that only the labels which a question lists are an answer to it (see
`Question.choices`).
`$name` stands for a value. A released prompt is never edited (`released.json` pins the files): a change is the
next version.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from judge.fence import Markup, escape
from judge.question import Prompt

_FILE = re.compile(r"(?P<name>[a-z_]+)\.(?P<version>v[0-9]+)\.md")
_FRONTMATTER = re.compile(r"\A---\n(?P<lines>.*?)^---\n", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^# (?P<name>system|prefix|question)\n", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\$(?P<name>[a-z_]+)")
SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Template:
    """One prompt file, taken apart. `sha256` covers the file and what it shares."""

    system: str
    prefix: str
    question: str
    sha256: str
    lists_labels: bool = False


def render(name: str, version: str, system_prompt: str | None = None, **values: str) -> Prompt:
    """The prompt with its values put in. Every value that is not `Markup` is escaped: it may be anything that an
    agent wrote. `system_prompt` replaces the file's own system text, and its hash goes into `Prompt.sha256`.

    Raises `LookupError` for a prompt or a value that does not exist.
    """
    template = load(name, version)
    digest = template.sha256 if system_prompt is None else _sha256(template.sha256, system_prompt)
    return Prompt(
        system=template.system if system_prompt is None else system_prompt,
        prefix=_filled(template.prefix, values),
        question=_filled(template.question, values),
        version=version,
        sha256=digest,
        lists_labels=template.lists_labels and system_prompt is None,
    )


def versions_of(name: str) -> tuple[str, ...]:
    """The versions of a prompt, oldest first; empty when there is no such prompt."""
    found = [match["version"] for match in map(_FILE.fullmatch, files()) if match and match["name"] == name]
    return tuple(sorted(found, key=lambda version: int(version[1:])))


@lru_cache
def files() -> tuple[str, ...]:
    """The names of all prompt files."""
    return tuple(sorted(file.name for file in resources.files(__name__).iterdir() if _FILE.fullmatch(file.name)))


@lru_cache
def source(file: str) -> str:
    """The text of a prompt file, or of the manifest."""
    return resources.files(__name__).joinpath(file).read_text(encoding="utf-8")


@lru_cache
def load(name: str, version: str) -> Template:
    """Raises `LookupError` when there is no such prompt."""
    file = f"{name}.{version}.md"
    if file not in files():
        raise LookupError(f"no prompt {file}; there are {', '.join(files())}")
    text = source(file)
    version_shared = _frontmatter(file, text, SHARED)
    shared = None if version_shared is None else source(f"{SHARED}.{version_shared}.md")
    own, common = _sections(text), _sections(shared or "")
    sections = common | own
    return Template(
        system=sections["system"],
        prefix=sections["prefix"],
        question=sections["question"],
        sha256=_sha256(shared or "", text),
        lists_labels="system" not in own and _frontmatter(SHARED, shared or "", "labels") == "listed",
    )


def _frontmatter(file: str, text: str, key: str) -> str | None:
    """The value of the one key that may stand there; None without frontmatter. Raises `LookupError` for another."""
    frontmatter = _FRONTMATTER.match(text)
    if frontmatter is None:
        return None
    found, _, value = frontmatter["lines"].strip().partition(": ")
    if found != key:
        raise LookupError(f"{file}: the frontmatter may only say `{key}: <value>`")
    return value


def _sections(text: str) -> dict[str, str]:
    """Section name to text. What stands before the first heading belongs to none."""
    parts = _HEADING.split(text)[1:]
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _filled(template: str, values: dict[str, str]) -> str:
    def value(placeholder: re.Match[str]) -> str:
        given = values[placeholder["name"]]
        return given if isinstance(given, Markup) else escape(given)

    # One pass: what a value holds is never looked at for placeholders.
    return _PLACEHOLDER.sub(value, template)


def _sha256(*texts: str) -> str:
    return hashlib.sha256(b"\0".join(text.encode() for text in texts)).hexdigest()
