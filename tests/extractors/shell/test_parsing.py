from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.shell.parsing import MAX_COMMAND, MAX_DEPTH, parse
from extractors.shell.syntax import Block, Command, Group, Kind, Loop, Stage, text_of

SIGNS = st.text(alphabet="ab/. \t\n'\"\\$`(){};&|<>#*~=-!\x00\u00a0é", max_size=80)


def commands(block: Block) -> list[list[str]]:
    """The words of every simple command, in order."""
    return [words for pipeline in block for stage in pipeline.stages for words in _of(stage)]


def _of(stage: Stage) -> list[list[str]]:
    match stage:
        case Command():
            return [[text_of(word) for word in stage.words]]
        case Group() | Loop():
            return commands(stage.body)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a; b && c || d | e & f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a 'x; y' \"z && w\"", [["a", "x; y", "z && w"]]),
        ("(a; b) && { c; d; }", [["a"], ["b"], ["c"], ["d"]]),
        ("if a; then b; elif c; then d; else e; fi; f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("while a; do b; done", [["a"], ["b"]]),
        ("for x in 1 2; do a; done; b", [["a"], ["b"]]),
        ("for ((i=0; i<3; i++)); do a; done", [["a"]]),
        ("case x in 1) a;; *) b;; esac; c", [["a"], ["b"], ["c"]]),
        ("a # b; c\nd", [["a"], ["d"]]),
        ("a#b", [["a#b"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a <<X b\nc 'd\nX\ne", [["a", "b"], ["e"]]),
        ("a <<-'X Y'\n\tc\n\tX Y\ne", [["a"], ["e"]]),
        ("a <<X; b <<Y\n1\nX\n2\nY\nc", [["a"], ["b"], ["c"]]),
        ("a <<X\nunfinished\nb", [["a"]]),
        ("f() { a; }; b", [[], ["b"]]),
        ("a $'it\\'s' b", [["a", "it\\'s", "b"]]),
        ("a C:\\tea\\new b", [["a", "C:\\tea\\new", "b"]]),
        ("a <(b; c) d", [["a", "d"]]),
        ("x=(1 2) a", [["x=", "a"]]),
        ("", []),
        ("# nothing", []),
    ],
)
def test_a_command_line_is_cut_into_its_commands(command: str, expected: list[list[str]]) -> None:
    assert commands(parse(command)) == expected


def test_what_follows_an_unfinished_quote_is_not_read() -> None:
    assert commands(parse("a; b 'c; d")) == [["a"]]


def test_substitutions_are_scripts_of_their_own() -> None:
    for command in ("a $(b c)", 'a "$(b c)"', "a `b c`"):
        (pipeline,) = parse(command)
        (stage,) = pipeline.stages
        assert isinstance(stage, Command)
        scripts = [piece.script for piece in stage.words[1] if piece.kind is Kind.OUTPUT]
        assert [commands(script) for script in scripts] == [[["b", "c"]]]


def test_variables_are_kept_apart_from_text() -> None:
    (pipeline,) = parse("a $x/${y:-z}/'$q'")
    (stage,) = pipeline.stages
    assert isinstance(stage, Command)
    pieces = [(piece.kind, piece.text) for piece in stage.words[1] if piece.text]
    assert pieces == [
        (Kind.VARIABLE, "x"),
        (Kind.PLAIN, "/"),
        (Kind.VARIABLE, "y"),
        (Kind.PLAIN, "/"),
        (Kind.QUOTED, "$q"),
    ]


def test_redirects_are_no_words() -> None:
    (pipeline,) = parse("a > b 2>&1 c &> d <<< e")
    (stage,) = pipeline.stages
    assert isinstance(stage, Command)
    assert [text_of(word) for word in stage.words] == ["a", "c"]
    assert [(one.descriptor, one.operator, text_of(one.target)) for one in stage.redirects] == [
        ("", ">", "b"),
        ("2", ">&", "1"),
        ("", "&>", "d"),
        ("", "<<<", "e"),
    ]


@given(text=SIGNS)
def test_no_text_raises(text: str) -> None:
    parse(text)


@given(text=st.text(alphabet=st.characters(blacklist_characters="'"), max_size=200))
def test_quoted_text_is_one_word_whatever_it_holds(text: str) -> None:
    assert commands(parse(f"a '{text}'; b")) == [["a", text], ["b"]]


@given(lines=st.lists(st.text(alphabet="ab '\"$`(){};|&<>\\#", max_size=30), max_size=6))
def test_a_here_document_holds_no_commands(lines: list[str]) -> None:
    document = "".join(f"{line}\n" for line in lines)
    assert commands(parse(f"a <<'END'\n{document}END\nb")) == [["a"], ["b"]]


@pytest.mark.parametrize("opening", ["(", "$(", '"$(', "f() ", "{ ", "if ", "case x in a) ", "for x in y; do ", "<("])
def test_nesting_without_end_is_given_up(opening: str) -> None:
    parse(opening * 10_000 + "a")


def test_nesting_of_a_usual_depth_is_read() -> None:
    depth = MAX_DEPTH - 2
    assert commands(parse("(" * depth + "a" + ")" * depth)) == [["a"]]


def test_a_document_is_not_taken_for_a_command() -> None:
    assert parse("a " + "x" * MAX_COMMAND) == ()
