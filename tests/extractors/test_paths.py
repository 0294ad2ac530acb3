from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors import paths


@pytest.mark.parametrize(
    ("directory", "path", "expected"),
    [
        ("", "a/b", "a/b"),
        ("d", "a/b", "d/a/b"),
        ("d/", "./a", "d/a"),
        ("d/e", "../a", "d/a"),
        ("", "../a", "../a"),
        ("d", "../../a", "../a"),
        ("d", "/a", "/a"),
        ("d", "~/a", "~/a"),
        ("d", "$HOME/a", "$HOME/a"),
        ("d", "C:\\a", "C:\\a"),
        ("d", "skill://a", "skill://a"),
        ("d", "file:///a%20b", "/a b"),
        ("d", "file://localhost/a", "/a"),
        ("d", "file:///C:/a", "C:/a"),
        ("d", " a\n", "d/a"),
    ],
)
def test_a_path_is_seen_from_a_directory(directory: str, path: str, expected: str) -> None:
    assert paths.joined(directory, path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s/tea/SKILL.md", "tea"),
        ("s/tea//SKILL.md", "tea"),
        ("C:\\s\\tea\\SKILL.md", "tea"),
        ("s\\tea/SKILL.md", "tea"),
        ("C:\\SKILL.md", None),
        ("SKILL.md", None),
        ("../SKILL.md", None),
        ("~/SKILL.md", None),
        ("s/*/SKILL.md", None),
        ("$()/SKILL.md", None),
        ("$DIR/SKILL.md", None),
    ],
)
def test_a_directory_has_a_name_where_the_path_tells_it(path: str, expected: str | None) -> None:
    assert paths.directory_name(path) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("s/tea/SKILL.md", "/w/s/tea/SKILL.md", True),
        ("./s/tea/SKILL.md", "s/tea/skill.md", True),
        ("tea/SKILL.md", "mate/SKILL.md", False),
        ("ea/SKILL.md", "tea/SKILL.md", False),
    ],
)
def test_paths_of_one_file_end_alike(one: str, other: str, same: bool) -> None:
    assert paths.same_file(one, other) is paths.same_file(other, one) is same


@given(directory=st.text(max_size=20), path=st.text(max_size=40))
def test_no_path_raises(directory: str, path: str) -> None:
    seen = paths.joined(directory, path)
    paths.directory_name(seen)
    paths.same_file(seen, path)
