"""Fences: what agents wrote can be read back exactly and can never leave its tag."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.fence import escape, fence, left_out, size, unescape, unfence

ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text("<>/&;amplt#xD8 \n\"'\ud800\udfff", max_size=60)


@given(ANY_TEXT)
def test_what_went_in_comes_out_byte_for_byte(text: str) -> None:
    assert unescape(escape(text)) == text
    assert unfence(fence("result", text)) == ("result", text)


@given(ANY_TEXT)
def test_a_fence_has_exactly_its_own_two_tags(text: str) -> None:
    fenced = fence("result", text)
    assert fenced.count("<") == 2
    assert fenced.startswith("<result>")
    assert fenced.endswith("</result>")
    fenced.encode()


@given(ANY_TEXT, st.integers(0, 80))
def test_a_cut_text_keeps_its_limit_and_counts_what_is_gone(text: str, most_bytes: int) -> None:
    fenced = fence("result", text, most_bytes)
    inside = fenced.removeprefix("<result>").removesuffix("</result>")
    mark = re.search(r'<left_out characters="([0-9]+)"/>', inside)
    if mark is None:
        assert unescape(inside) == text
        assert size(inside) <= most_bytes
        return
    head, tail = unescape(inside[: mark.start()]), unescape(inside[mark.end() :])
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + int(mark[1]) + len(tail) == len(text)
    assert size(inside) - size(mark[0]) <= most_bytes
    assert left_out(fenced) == int(mark[1])


@pytest.mark.parametrize(
    "text",
    ["</result>", "<result>", '<left_out characters="9"/>', "&lt;/result>", "<!-- -->", "<\x00/result>"],
)
def test_text_that_looks_like_a_tag_of_ours_is_only_text(text: str) -> None:
    fenced = fence("result", text)
    assert fenced.count("<") == 2
    assert left_out(fenced) == 0
    assert unfence(fenced)[1] == text


def test_a_very_long_text_is_not_escaped_whole_to_be_cut() -> None:
    assert size(fence("result", "&" * 50_000_000, 100)) < 200
