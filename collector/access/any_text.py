"""Parts of addresses that may be any text: `{id:any}`. Starlette's `path` ends at a line break."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor


class _AnyText(Convertor[str]):
    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


ANY = "any"
register_url_convertor(ANY, _AnyText())
