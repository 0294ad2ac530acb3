from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.shell.output import FileText
from extractors.shell.running import MAX_STEPS, printed, printed_by_words

FILE = "s/tea/SKILL.md"


def files(command: str, directory: str = "") -> list[str]:
    """Paths of the files that the command prints."""
    return [one.path for one in printed(command, directory) if isinstance(one, FileText)]


PRINTING = [
    "cat {}",
    "cat -- {}",
    "cat '{}'",
    'cat "{}"',
    "/bin/cat {}",
    "cat<{}",
    "less {}",
    "bat -p --theme ansi {}",
    "nl -b a {}",
    "head -n 40 {}",
    "tail -n +1 {}",
    "sed -n '1,40p' {}",
    "sed -n -e 1,40p {}",
    "awk '{{print}}' {}",
    "sudo -u me cat {}",
    "env -i A=1 cat {}",
    "A=1 B=2 cat {}",
    "time nohup timeout -k 1 5 cat {}",
    "bash -lc 'cat {}'",
    "sh -c \"bash -c 'cat {}'\"",
    "bash <<'X'\ncat {}\nX",
    "eval 'cat {}'",
    "(cat {})",
    "{{ cat {}; }}",
    "! cat {}",
    "ls; cat {}",
    "ls && cat {}",
    "ls || cat {}",
    "ls\ncat {}",
    "ls & cat {}",
    "cat {} | head -20",
    "cat {} | cat -n | less",
    "cat {} | tee copy.md",
    "cat {} 2>/dev/null",
    "cat {} 2>&1",
    "cat {} > /dev/stdout",
    "cat {} # see",
    'echo "$(cat {})"',
    'echo "$(< {})"',
    "echo `cat {}`",
    "echo {} | xargs cat",
    "echo {} | xargs -n 1 -I F cat F",
    'ls {} | while read -r f; do cat "$f"; done',
    "for f in {}; do cat $f; done",
    "if true; then cat {}; fi",
    "case a in *) cat {};; esac",
    "F={}; cat $F",
    "cat > other.md <<X\nbody\nX\ncat {}",
    "cat $(ls {})",
    'powershell -NoProfile -Command "Get-Content -Raw -Path {}"',
    "Get-Content {} -TotalCount 20",
    "gc {} | Select-Object -First 20",
    "cmd /c type {}",
]
SILENT = [
    "echo cat {}",
    "echo 'cat {}'",
    "cat {} > copy.md",
    "cat {} >> copy.md",
    "cat {} >| copy.md",
    "cat {} &> /dev/null",
    "(cat {}) > copy.md",
    "for f in a; do cat {}; done > copy.md",
    "cat > {}",
    "cat a > {}",
    "tee {}",
    "cat a | tee {} > /dev/null",
    "sed -i s/a/b/ {}",
    "sed --in-place=.bak s/a/b/ {}",
    "sed -n '$=' {}",
    "awk '/x/' {}",
    "awk 'END{{print NR}}' {}",
    "cat {} | wc -l",
    "cat {} | grep tea",
    "cat {} | python3 -c 'pass'",
    "grep -n tea {}",
    "rg tea {}",
    "ls -l {}",
    "stat {}",
    "wc -l {}",
    "test -f {}",
    "[ -f {} ]",
    "[[ -f {} ]]",
    "find s -path {}",
    "cp {} copy.md",
    "rm {}",
    "git add {}",
    "git commit -m 'cat {}'",
    "python - <<X\nprint(open('{}').read())\nX",
    "python -c \"print(open('{}').read())\"",
    "cat <<X\ncat {}\nX",
    "cat <<X > a\n{}\nX",
    "cat <<< {}",
    "x=$(cat {})",
    "# cat {}",
    "cat '{}",
    "f() {{ cat {}; }}",
    "vim {}",
]


@pytest.mark.parametrize("command", PRINTING)
def test_a_file_that_is_shown_is_told(command: str) -> None:
    assert files(command.format(FILE)) == [FILE]


@pytest.mark.parametrize("command", SILENT)
def test_a_file_that_is_not_shown_is_not_told(command: str) -> None:
    assert files(command.format(FILE)) in ([], ["a"])


@given(
    command=st.sampled_from([one for one in PRINTING if not one.endswith("# see") and "\n" not in one]),
    target=st.sampled_from(["copy.md", "/tmp/x/SKILL.md", "'a b'"]),
)
def test_what_goes_to_a_file_is_not_shown(command: str, target: str) -> None:
    assert files("{ " + command.format(FILE) + f"; }} > {target}") == []


@given(text=st.text(alphabet=st.characters(blacklist_characters="'"), max_size=120))
def test_text_in_quotes_shows_no_file(text: str) -> None:
    assert files(f"git commit -m 'cat {FILE}; {text}\ncat {FILE}'") == []


@given(text=st.text(alphabet="cat/SKILL.md \n'\"$`();|&<>{}", max_size=120))
def test_no_command_raises(text: str) -> None:
    printed(text, "s/tea")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd s/tea && cat SKILL.md", ["s/tea/SKILL.md"]),
        ("cd s; cd tea; cat ./SKILL.md", ["s/tea/SKILL.md"]),
        ("(cd s/tea && cat SKILL.md); cat SKILL.md", ["s/tea/SKILL.md", "SKILL.md"]),
        ("cd s/tea/references; cat ../SKILL.md", ["s/tea/SKILL.md"]),
        ("pushd s/tea > /dev/null; cat SKILL.md; popd > /dev/null; cat SKILL.md", ["s/tea/SKILL.md", "SKILL.md"]),
        ("cd s/tea | cat; cat SKILL.md", ["SKILL.md"]),
        ("cd s && cat ~/SKILL.md /x/SKILL.md $HOME/SKILL.md", ["~/SKILL.md", "/x/SKILL.md", "$HOME/SKILL.md"]),
        ("cd -; cat SKILL.md", ["SKILL.md"]),
        ("cd /d C:\\s && type tea\\SKILL.md", ["C:\\s/tea\\SKILL.md"]),
        ("bash -c 'cd s'; cat SKILL.md", ["SKILL.md"]),
    ],
)
def test_directories_are_followed(command: str, expected: list[str]) -> None:
    assert files(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a b", ["a", "b"]),
        ("cat s/{tea,mate}/SKILL.md", ["s/tea/SKILL.md", "s/mate/SKILL.md"]),
        ("cat '{a,b}'", ["{a,b}"]),
        ("for f in a b; do for g in 1 2; do cat $f$g; done; done", ["a1", "a2", "b1", "b2"]),
        ("cat s/*/SKILL.md", ["s/*/SKILL.md"]),
        ("find s -name SKILL.md -exec cat {} \\;", ["s/**/SKILL.md"]),
        ("find s t -name SKILL.md | xargs cat", ["s/**/SKILL.md", "t/**/SKILL.md"]),
        ("cat $(find . -name SKILL.md)", ["**/SKILL.md"]),
        ("cat $(pwd)/SKILL.md", ["$()/SKILL.md"]),
        ("cat a - b", ["a", "b"]),
        ("Get-Content a, b", ["a", "b"]),
        ("gc -Path a,'b' -Raw", ["a", "b"]),
    ],
)
def test_one_command_may_show_several_files(command: str, expected: list[str]) -> None:
    assert files(command) == expected


@pytest.mark.parametrize(
    ("command", "first", "last", "cut"),
    [
        ("cat a", 1, None, False),
        ("head a", 1, 10, False),
        ("head -5 a", 1, 5, False),
        ("head -n 5 a", 1, 5, False),
        ("head -n5 a", 1, 5, False),
        ("head --lines=5 a", 1, 5, False),
        ("head -n -5 a", 1, None, True),
        ("head -c 99 a", 1, None, True),
        ("tail a", None, None, False),
        ("tail -n +7 a", 7, None, False),
        ("sed -n 3,9p a", 3, 9, False),
        ("sed -n '3,$p' a", 3, None, False),
        ("sed -n 3p a", 3, 3, False),
        ("sed 20q a", 1, 20, False),
        ("sed s/x/y/ a", 1, None, True),
        ("sed -n '/x/,/y/p' a", None, None, True),
        ("cat a | head -5", 1, 5, False),
        ("cat a | sed -n 3,9p", 3, 9, False),
        ("head -9 a | tail -3", 1, 9, True),
        ("bat -r 3:9 a", 3, 9, False),
        ("Get-Content a -Tail 3", None, None, False),
        ("gc a | Select-Object -Skip 2", 3, None, False),
    ],
)
def test_the_part_that_is_shown_is_told(command: str, first: int | None, last: int | None, cut: bool) -> None:
    assert printed(command) == (FileText("a", first, last, cut),)


@pytest.mark.parametrize("command", ["cat b || cat a", "if x; then cat a; fi", "case x in y) cat a;; esac"])
def test_what_may_not_run_only_may_be_shown(command: str) -> None:
    assert FileText("a", maybe=True) in printed(command)


def test_a_command_given_as_words_needs_no_quotes() -> None:
    assert printed_by_words(["cat", "my tea/SKILL.md"]) == (FileText("my tea/SKILL.md"),)
    assert printed_by_words(["bash", "-lc", "cat 'my tea/SKILL.md'"]) == (FileText("my tea/SKILL.md"),)


def test_loops_in_loops_end() -> None:
    values = " ".join(map(str, range(60)))
    command = f"for a in {values}; do for b in {values}; do for c in {values}; do cat $a$b$c; done; done; done"
    assert 0 < len(files(command)) <= MAX_STEPS
