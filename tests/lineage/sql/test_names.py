"""Names of objects: split, quoted, qualified, as people write them and as records hold them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import BadNameError
from lineage.names import delta_path, qualify, quote_name, split_name, split_recorded, sql_name, sql_text
from lineage.sql.parse import parse
from lineage.sql.tokens import tokenize

ANY_PARTS = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4)
# A record's reader drops blanks around a part without back-ticks.
TRIMMED_PARTS = st.lists(
    st.text(min_size=1, max_size=8).filter(lambda part: part == part.strip() or set(part) & set(".`")),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("t", ("t",)),
        ("s.t", ("s", "t")),
        ("c.s.t", ("c", "s", "t")),
        ("a.b.c.d", ("a", "b", "c", "d")),
        ("`a.b`.c", ("a.b", "c")),
        ("s.`a``b`", ("s", "a`b")),
        ("````", ("`",)),
        ("` a `", (" a ",)),
        (" s . t ", ("s", "t")),
        ("`s` .\t`t`\n", ("s", "t")),
        ("my table", ("my table",)),
        ("größe.表.😀", ("größe", "表", "😀")),
        ("2024_sales", ("2024_sales",)),
        ("it's", ("it's",)),
    ],
)
def test_a_written_name_is_split_at_its_dots(written, parts):
    """Back-ticks protect dots, blanks around a part do not count, any letter may stand in one."""
    assert split_name(written) == parts


@pytest.mark.parametrize(
    "text",
    ["", " ", ".", "a.", ".a", "a..b", "a. ", "``", "`a", "a`", "`a`b", "a`b`", "`a``", "`a`.`", "a.``"],
)
def test_what_is_no_name_is_refused_by_name(text):
    """The error holds the text, and says how a name is written."""
    with pytest.raises(BadNameError) as raised:
        split_name(text)
    assert raised.value.subject == text
    assert "`catalog.schema.table`" in str(raised.value)
    assert pickle.loads(pickle.dumps(raised.value)).subject == text  # noqa: S301  our own bytes


@given(ANY_PARTS)
def test_a_name_for_sql_is_read_back_whole(parts):
    """Quoted for SQL, any parts come back, whatever stands in them."""
    assert split_name(sql_name(parts)) == tuple(parts)
    assert split_recorded(sql_name(parts)) == tuple(parts)


@given(TRIMMED_PARTS)
def test_a_recorded_name_is_read_back_whole(parts):
    """Quoted only where it must be, a record's name gives its parts again."""
    assert split_recorded(quote_name(parts)) == tuple(parts)


@pytest.mark.parametrize(
    ("parts", "recorded", "in_sql"),
    [
        (("s", "t"), "s.t", "`s`.`t`"),
        (("s", "a b"), "s.a b", "`s`.`a b`"),
        (("s", "a.b"), "s.`a.b`", "`s`.`a.b`"),
        (("a`b",), "`a``b`", "`a``b`"),
        (("SELECT",), "SELECT", "`SELECT`"),
        ((), "", ""),
    ],
)
def test_a_record_quotes_what_it_must_and_sql_everything(parts, recorded, in_sql):
    """A dot or a back-tick needs back-ticks in a record; SQL gets them always."""
    assert quote_name(parts) == recorded
    assert sql_name(parts) == in_sql


@given(st.text(max_size=40))
def test_a_recorded_name_of_any_form_is_split(name):
    """The name of a location may be any text: splitting it never fails."""
    parts = split_recorded(name)
    assert all(isinstance(part, str) for part in parts)
    assert "`" in name or all("." not in part for part in parts)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("s3://bucket/a", ("s3://bucket/a",)),
        ("/data/x.csv", ("/data/x", "csv")),
        ("a..b", ("a", "b")),
        ("", ()),
        (".", ()),
        ("`a.b`.c", ("a.b", "c")),
    ],
)
def test_names_of_locations_are_split_leniently(name, parts):
    """What is between dots is a part, and empty ones are none."""
    assert split_recorded(name) == parts


@pytest.mark.parametrize(
    ("parts", "full"),
    [
        (("t",), ("c", "s", "t")),
        (("r", "t"), ("c", "r", "t")),
        (("b", "r", "t"), ("b", "r", "t")),
        (("b", "q", "r", "t"), ("b", "q", "r", "t")),
    ],
)
def test_a_short_name_is_completed_as_spark_does(parts, full):
    """One part lacks the catalog and the schema, two lack the catalog, more lack nothing."""
    assert qualify(parts, ("c", "s")) == full


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=30))
def test_a_text_for_sql_is_one_literal_of_that_value(value):
    """Quotes, back-slashes and line breaks in a value end no literal and begin no statement."""
    tokens = tokenize(f"SELECT {sql_text(value)} AS a")
    assert [token.text for token in tokens[1:]] == [value, "AS", "a"]


@pytest.mark.parametrize("location", ["/data/t", "/it's/a b", "s3://b/`x`", "/ü/%20/a.b"])
def test_a_table_by_its_path_is_one_name_of_two_parts(location):
    """Whatever the path holds, SQL reads it back."""
    assert parse(f"SELECT * FROM {delta_path(location)}").references == (("delta", location),)
