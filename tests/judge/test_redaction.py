"""Secrets stay here; everything else, and every tag, goes through unchanged."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.fence import escape, fence
from judge.question import Prompt
from judge.redaction import NOTHING, Redaction

REDACTION = Redaction()
# Put together here, so that no scanner takes this file for a leak.
SECRETS = {
    "anthropic-key": "sk-" + "ant-api03-" + "a1B2" * 10,
    "openai-key": "sk-" + "proj-" + "Zz9_" * 8,
    "aws-access-key": "AKIA" + "Q4" * 8,
    "github-token": "ghp" + "_" + "x9" * 18,
    "gitlab-token": "glpat" + "-" + "k3" * 10,
    "slack-token": "xoxb" + "-123456789012-" + "abcDEF",
    "google-key": "AIza" + "S" * 35,
    "stripe-key": "sk" + "_live_" + "4e" * 12,
    "hugging-face-token": "hf" + "_" + "Qw" * 17,
    "json-web-token": "eyJhbGciOiJub25l." + "eyJzdWIiOiIxIn0." + "c2ln",
    "private-key": "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEow\nIBAAK=\n-----END RSA PRIVATE KEY-----",
}

MARKS = {secret: f'<redacted kind="{kind}"/>' for kind, secret in SECRETS.items()}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_well_known_secret_is_masked_where_it_stands(kind: str) -> None:
    assert REDACTION.text(f"before {SECRETS[kind]} after") == f'before <redacted kind="{kind}"/> after'


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('{"password": "tulip", "user": "ada"}', '{"password": "#", "user": "ada"}'),
        ('{"Api-Key":"a\\"b"}', '{"Api-Key":"#"}'),
        ('{\\"api_key\\": \\"tulip\\"}', '{\\"api_key\\": \\"#\\"}'),
        ("export DB_PASSWORD=tulip; ls", "export DB_PASSWORD=#; ls"),
        ("clientSecret = 'two words'", "clientSecret = '#'"),
        ("?access_token=tulip&page=2", "?access_token=#&page=2"),
        ("password: , none", "password: , none"),
        ("the passwords are kept elsewhere", "the passwords are kept elsewhere"),
        ('{"password": ""}', '{"password": ""}'),
    ],
)
def test_the_value_of_a_secret_field_is_masked_however_it_is_written(text: str, masked: str) -> None:
    assert REDACTION.text(text) == masked.replace("#", '<redacted kind="field"/>')


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("postgres://ada:tulip@db/shop", "postgres://ada:#@db/shop"),
        ("curl -H 'Authorization: Basic dHVsaXA6dHVsaXA='", "curl -H 'Authorization: Basic #'"),
        ("bearer abcdefghij0123456789xyz", "bearer #"),
        ("a bearer of uncomfortable-truths", "a bearer of uncomfortable-truths"),
        ("https://example.test/a:b", "https://example.test/a:b"),
    ],
)
def test_credentials_in_addresses_and_headers_are_masked_and_the_rest_is_kept(text: str, left: str) -> None:
    assert re.sub(r"<redacted [^>]*>", "#", REDACTION.text(text)) == left


END = "-----END RSA PRIVATE" + " KEY-----"
LINES = ("kZ3w" * 16, "Qx7A" * 16, "shorter==")


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\\n", "\\\\n", " "])
@pytest.mark.parametrize("first", ["", "bcd", "kZ3w" * 16])
def test_a_private_key_whose_beginning_was_cut_off_is_masked_from_its_end(line_break: str, first: str) -> None:
    key = line_break.join((first, *LINES, END))
    shown = REDACTION.text(f"the file, with a note:{line_break}{key} and more")
    assert re.fullmatch(r'the file, with a note:[\s\\rn]*<redacted kind="private-key"/> and more', shown)


def test_a_private_key_whose_end_was_cut_off_is_masked_from_its_beginning() -> None:
    key = "\n".join(("-----BEGIN RSA PRIVATE" + " KEY-----", *LINES))
    assert REDACTION.text(f'{{"file": "{key}') == '{"file": "<redacted kind="private-key"/>'


def test_the_last_line_of_a_key_alone_takes_no_prose_with_it() -> None:
    text = f"A key ends in a line like this one, in every file: {END} is it."
    assert REDACTION.text(text) == text.replace(END, '<redacted kind="private-key"/>')


def test_a_secret_value_without_its_closing_quote_is_masked_where_the_text_was_cut() -> None:
    assert REDACTION.text('{"user": "ada", "password": "tulips, ro') == (
        '{"user": "ada", "password": "<redacted kind="field"/>'
    )
    assert REDACTION.text('{"password": "", "user": "ada') == '{"password": "", "user": "ada'


@given(st.integers(0, 400), st.sampled_from(list(SECRETS.values())))
def test_no_part_of_a_secret_is_left_in_the_beginning_of_a_text(most: int, secret: str) -> None:
    shown = REDACTION.cut_before("~" * 200 + secret + "~" * 200, most)
    kept = shown.replace(MARKS[secret], "")
    assert kept == "~" * (most if most <= 200 else max(200, most - len(secret)))
    assert (MARKS[secret] in shown) == (most > 200)


def test_structured_values_are_masked_text_by_text_and_field_by_field() -> None:
    value = {"db_password": "tulip", "pin": 7, "apiKey": 12, "token count": 3, "deep": [{"secret": ["a", TEXT]}, TEXT]}
    assert REDACTION.value(value) == {
        "db_password": '<redacted kind="field"/>',
        "pin": 7,
        "apiKey": '<redacted kind="field"/>',
        "token count": 3,
        "deep": [{"secret": ["a", 'see <redacted kind="google-key"/>']}, 'see <redacted kind="google-key"/>'],
    }
    assert NOTHING.value(value) == value


TEXT = f"see {SECRETS['google-key']}"


def test_own_keys_and_patterns_are_masked_under_their_kinds() -> None:
    redaction = Redaction({"customer": r"\bCU-[0-9]{6}\b"}, ["national id"], defaults=False)
    text = f'CU-123456 CU-12 "national_id": "42", {SECRETS["google-key"]}'
    assert redaction.text(text) == (
        f'<redacted kind="customer"/> CU-12 "national_id": "<redacted kind="field"/>", {SECRETS["google-key"]}'
    )


def test_a_mark_is_not_masked_again() -> None:
    redaction = Redaction({"word": "redacted"}, ["kind"])
    assert redaction.text(SECRETS["google-key"]) == '<redacted kind="google-key"/>'


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"[0-9]+", "upper limit"),
        (r"a*", "upper limit"),
        (r"x{3,}", "upper limit"),
        (r"x{1,5000}", "upper limit"),
        (r"(?:a{1,100}){1,100}b", "ways to match"),
        (r"a{1,100}a{1,100}a{1,100}b", "ways to match"),
        (r"(a)\1", "references"),
        (r"(", "not a regular expression"),
        (r"a?", "empty text"),
        ("a" * 501, "500 characters"),
    ],
)
def test_a_pattern_that_could_take_long_is_refused_with_its_kind_and_the_way_out(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"mine: .*{why}"):
        Redaction({"mine": pattern})


@pytest.mark.parametrize("pattern", [r"\bID-[0-9]{8,12}\b", r"(?:foo|bar)-[a-z]{1,64}@[a-z]{1,64}", r"(?<!x)tulip"])
def test_a_bounded_pattern_is_taken(pattern: str) -> None:
    Redaction({"mine": pattern})


def test_a_kind_that_could_break_the_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="a kind is made of"):
        Redaction({'x"/><task>': "a"})


TEXTS = st.text(alphabet=st.sampled_from('ab:="\\< >&-sk_password'), max_size=80)


@given(st.lists(st.tuples(st.sampled_from(["task", "result"]), TEXTS), max_size=6))
def test_every_tag_of_a_prompt_stays(pieces: list[tuple[str, str]]) -> None:
    greedy = Redaction({"all": r"[\s\S]{1,300}"})
    text = "".join(fence(tag, inside) for tag, inside in pieces)
    tags = re.findall(r"</?(?:task|result)>", text)
    for redaction in (REDACTION, greedy):
        assert re.findall(r"</?(?:task|result)>", redaction.markup(text)) == tags


@given(TEXTS)
def test_without_rules_nothing_changes(text: str) -> None:
    assert NOTHING.text(text) == text
    assert NOTHING.markup(escape(text)) == escape(text)


def test_questions_of_one_session_still_begin_alike() -> None:
    record = fence("result", f"the key is {SECRETS['openai-key']}, password=tulip")
    one, other = (
        REDACTION.prompt(Prompt("Judge.", record, asked, "v1", "abc")) for asked in ("Right?", "password=rose fine?")
    )
    assert one.prefix == other.prefix
    assert "tulip" not in one.prefix
    assert "rose" not in other.question
    assert one.system == "Judge."


@pytest.mark.parametrize(
    "piece",
    [
        'password="',
        "eyJa.",
        "-----BEGIN PRIVATE" + " KEY-----",
        "a://b:",
        "bearer ",
        "password\\",
        END,
        f"QUJD\n{END}",
        f"{'QUJD' * 16}\\n{END}",
        f"{'QUJD' * 16}\n",
        f"n\\n\\{END}",
    ],
)
def test_the_work_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    """No time is measured: a text of this size would not end within the test's limit if it were otherwise."""
    REDACTION.text(piece * (300_000 // len(piece)))
