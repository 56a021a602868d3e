"""A place on this machine has one path, however Spark, Delta, Hadoop or a user spell it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.file_paths import FILE_SCHEME, local_path, with_one_slash, without_scheme

# Characters that folders have in practice, and those that URLs and globs treat in a special way.
SEGMENTS = st.lists(st.text("aZ0 _-.=%#?*[]{}:é日'`\"\\", min_size=1), min_size=1, max_size=4)
PATHS = SEGMENTS.map(lambda parts: "/" + "/".join(parts))
SPELLINGS = ("{}", "file:{}", "file://{}")


@given(PATHS)
def test_all_spellings_of_a_path_are_one_place(path):
    """`/a`, `file:/a` and `file:///a` give one text and one path."""
    written = [spelling.format(path) for spelling in SPELLINGS]
    assert {without_scheme(one) for one in written} == {path}
    assert {local_path(one) for one in written} == {Path(path)}
    assert {with_one_slash(one) for one in written[1:]} == {"file:" + path}


@given(PATHS)
def test_a_path_without_a_scheme_stays_as_it_is(path):
    """Nothing is decoded or escaped: a folder may be named `a%20b`, `file:` or `s3:`."""
    assert with_one_slash(path) == path
    assert without_scheme(without_scheme(path)) == without_scheme(path)


@pytest.mark.parametrize(
    "location",
    [
        "s3a://bucket/a",
        "s3://bucket/a",
        "hdfs://name:8020/a",
        "hdfs:/a",
        "abfss://box@account.dfs.core.windows.net/a",
        "gs://bucket/a%20b",
        "dbfs:/mnt/a",
        "viewfs:/a",
        "git+ssh://host/a",
    ],
)
def test_a_place_elsewhere_is_no_path_of_this_machine(location):
    """A location with another scheme has no local path, and keeps its text."""
    assert local_path(location) is None
    assert without_scheme(location) == with_one_slash(location) == location


@pytest.mark.parametrize(
    ("location", "path"),
    [
        (".audit", ".audit"),
        ("", "."),
        ("file", "file"),
        ("files:a", None),
        ("C:/data", "C:/data"),
        ("a/b:c", "a/b:c"),
        ("/a/s3:/b", "/a/s3:/b"),
        ("file:relative/a", "relative/a"),
        ("file:/", "/"),
        ("file:///", "/"),
    ],
)
def test_what_is_local_is_told_by_the_scheme_alone(location, path):
    """One letter before a colon is a drive; a colon behind a slash is a part of a name."""
    assert local_path(location) == (None if path is None else Path(path))


@pytest.mark.parametrize("location", ["/data/t/", "/data/t//", "file:/data/t/", "file:///data/t/"])
def test_a_slash_at_the_end_does_not_make_another_place(location):
    """Locations are compared as texts, so the slash goes."""
    assert without_scheme(location) == "/data/t"
    assert without_scheme("s3://b/t/") == "s3://b/t"


@pytest.mark.parametrize(
    ("location", "is_scheme"),
    [("file:/a", True), ("file:///a", True), ("file:a", False), ("xfile:/a", False), ("FILE_/a", False)],
)
def test_the_pattern_takes_the_scheme_and_leaves_the_path(location, is_scheme):
    """Spark's and Python's regular expressions both replace it, so it must not take a slash of the path."""
    assert re.sub(FILE_SCHEME, "", location) == ("/a" if is_scheme else location)
