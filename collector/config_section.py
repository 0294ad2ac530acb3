"""What every section of the configuration file has in common: unknown keys are errors, values never change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Ratio = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


_Given = TypeVar("_Given", bound=Section)


def paths_from(section: _Given, base: Path) -> _Given:
    """The section with its paths, and those of the sections in it, taken from a directory. Absolute ones stay."""
    found: dict[str, Any] = {}
    for name in type(section).model_fields:
        value = getattr(section, name)
        match value:
            case Path():
                found[name] = base / value
            case Section():
                found[name] = paths_from(value, base)
    changed = {name: value for name, value in found.items() if value != getattr(section, name)}
    return section.model_copy(update=changed) if changed else section
