"""What a fixture says of itself, in the first lines of its `provenance.md`."""

from __future__ import annotations

from pathlib import Path

FENCE = "---\n"


def front_matter(directory: Path) -> str:
    """The lines between the fences and both fences; "" when there are none. Whoever writes the file keeps them, since
    they are written by hand."""
    file = directory / "provenance.md"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    if not text.startswith(FENCE):
        return ""
    fields, closed, _ = text.removeprefix(FENCE).partition(f"\n{FENCE}")
    return f"{FENCE}{fields}\n{FENCE}\n" if closed else ""


def fields(directory: Path) -> dict[str, str]:
    """`mode`, and where it applies `like` and `cut` (tests/fixtures/README.md)."""
    lines = front_matter(directory).replace(FENCE, "").splitlines()
    pairs = (line.partition(": ") for line in lines if line)
    return {key.strip(): value.strip() for key, _, value in pairs}
