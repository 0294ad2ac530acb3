"""Fences: what agents wrote can be read back exactly and can never leave its tag."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.fence import escape, fence, left_out, size, unescape, unfence
from judge.redaction import Redaction

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


KEY = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + "Qk1z" * 200 + "\n-----END RSA PRIVATE" + " KEY-----"
TOKEN = "ghp" + "_" + "x9" * 18
MARK = '<redacted kind="{}"/>'


@given(st.integers(0, 3000), st.integers(0, 3000), st.integers(0, 900), st.sampled_from([KEY, TOKEN]))
def test_no_part_of_a_secret_is_left_wherever_the_text_is_cut(before: int, after: int, most: int, secret: str) -> None:
    text = "~" * before + secret + "^" * after
    fenced = fence("result", text, most, Redaction())
    if size(text) <= most:
        assert fenced == fence("result", text), "nothing is cut, and the whole prompt is looked through before it goes"
        return
    inside = fenced.removeprefix("<result>").removesuffix("</result>")
    assert not set(re.sub("<[^>]*>", "", inside)) - set("~^")
    gone, marks = left_out(fenced), inside.count("<redacted")
    assert marks <= 1
    assert inside.count("~") + inside.count("^") + marks * len(secret) + gone == len(text)


@given(ANY_TEXT, st.integers(0, 80))
def test_a_text_without_secrets_is_cut_the_same_with_redaction(text: str, most_bytes: int) -> None:
    inside = fence("result", text, most_bytes, Redaction())
    if "<redacted" not in inside:
        assert inside == fence("result", text, most_bytes)


def test_what_stands_around_a_masked_secret_stays() -> None:
    fenced = fence("result", f"a; {TOKEN}; b{'.' * 200}c; {TOKEN}; d", 150, Redaction())
    token = MARK.format("github-token")
    assert fenced.startswith(f"<result>a; {token}; b....")
    assert fenced.endswith(f"c; {token}; d</result>")


def test_a_secret_that_is_all_there_is_left_to_cut_is_masked_once() -> None:
    key = MARK.format("private-key")
    assert fence("result", f"a{KEY}z", 100, Redaction()) == f'<result>a{key}<left_out characters="0"/>z</result>'


def test_a_very_long_text_is_not_escaped_whole_to_be_cut() -> None:
    assert size(fence("result", "&" * 50_000_000, 100)) < 200
