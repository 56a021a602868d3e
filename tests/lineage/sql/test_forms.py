"""One grammar: how a text is laid out does not change what the statement is."""

from __future__ import annotations

import random
from dataclasses import fields, is_dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.tokenizer_core import TokenType

from lineage.sql.commands.registry import GOVERNING, READERS, read_typed
from lineage.sql.parse import parse, typed_of
from lineage.sql.tokens import tokenize, word
from tests.lineage.sql.forms import FORMS, QUERIES

_FRAGMENTS = frozenset({"body", "data_type", "expression", "text", "type", "version"})
"""Fields that hold a piece of SQL as it was written: its tokens count."""
_GLUED = frozenset({"@", "$"})
_BETWEEN = [
    " ",
    "\n",
    "\t",
    " /**/ ",
    " /* AT (OFFSET => 1); CLONE x USING parquet CASCADE ' ` */ ",
    " --\n",
    " -- ->> 'x\n",
]
_END = ["", ";", " ; ", "; -- done", "\n;;", " /* ; */", " -- CLONE b"]
_START = ["", "\n", "/* dbt */ ", "-- dbt; DROP TABLE t\n", ";"]


def winner(text):
    """The first word of a text and the reader that has read it, by its place among those of that word."""
    tokens = tokenize(text)
    first = word(tokens, 0).partition(" ")[0]
    for table in (GOVERNING, READERS):
        for place, reader in enumerate(table.get(first, ())):
            if reader(tokens, text) is not None:
                return id(table), first, place
    return None


def test_every_reader_has_a_form():
    """Whoever adds a reader adds a text for it here."""
    registered = {
        (id(table), first, place)
        for table in (GOVERNING, READERS)
        for first, readers in table.items()
        for place in range(len(readers))
    }
    read = {winner(text) for text in FORMS}
    assert {(first, place) for _, first, place in registered - read} == set()
    assert read <= registered


@pytest.mark.parametrize("text", FORMS)
def test_every_form_is_read(text):
    """And a statement of it needs no tree to say what it is."""
    assert parse(text).typed is not None
    assert typed_of(text) == parse(text).typed


def same(value, name=""):
    """A typed value as it is compared: without spans, pieces of SQL by their tokens."""
    if is_dataclass(value):
        shown = {f.name: same(getattr(value, f.name), f.name) for f in fields(value) if f.compare}
        return type(value).__name__, tuple(shown.items())
    if isinstance(value, (tuple, list)):
        return tuple(same(one, name) for one in value)
    if isinstance(value, str) and name in _FRAGMENTS:
        return tuple(token.text.upper() for token in tokenize(value) or ())
    if name == "properties" and isinstance(value, dict):
        return tuple(value.items())
    return value


def laid_out(text, seed):
    """A text, and the same with other blanks, comments, case and back-ticks."""
    pick = random.Random(seed).choice  # noqa: S311  hypothesis chooses the seed
    tokens = tokenize(text)
    pieces = [pick(_START)]
    for at, token in enumerate(tokens):
        if at:
            glued = token.text in _GLUED or tokens[at - 1].text in _GLUED
            beside = tokens[at - 1].end + 1 == token.start
            pieces.append("" if glued and beside else pick(_BETWEEN))
        source = text[token.start : token.end + 1]
        is_word = source.replace("_", "").isalnum() and not source[0].isdigit()
        if is_word and source.isupper() and token.token_type is not TokenType.STRING:
            source = pick([source, source.lower(), source.capitalize()])
        elif is_word and source.islower() and word(tokens, at - 1) != "@":
            is_call = word(tokens, at + 1) == "("
            source = source if is_call else pick([source, f"`{source}`"])
        pieces.append(source)
    return text, "".join([*pieces, pick(_END)])


def layouts(texts):
    """Of one of these texts."""
    return st.builds(laid_out, st.sampled_from(texts), st.integers(0, 2**32))


@settings(max_examples=700, deadline=None)
@given(layouts(FORMS))
def test_layout_does_not_change_what_a_statement_is(layout):
    """Comments, line breaks, semicolons, case and back-ticks between all tokens."""
    text, other = layout
    one, two = parse(text), parse(other)
    assert same(two.typed) == same(one.typed)
    assert two.statement_type == one.statement_type


@settings(max_examples=200, deadline=None)
@given(layouts(QUERIES))
def test_layout_does_not_change_the_points_in_time(layout):
    """The same of clauses in queries."""
    text, other = layout
    assert same(parse(other).points) == same(parse(text).points)


@pytest.mark.parametrize("text", FORMS)
def test_words_in_strings_and_comments_do_not_matter(text):
    """A query that only quotes a statement is a query."""
    quoted = text.replace("'", "")
    statement = parse(f"SELECT '{quoted}' AS a, `b` FROM t /* {quoted} */ -- {quoted}")
    assert statement.statement_type == "SELECT"
    assert statement.typed is None
    assert statement.points == ()


def test_what_no_reader_knows_is_left_alone():
    """A text without a statement of ours has no typed value."""
    for text in ("SELECT 1", "INSERT INTO t VALUES (1)", "WITH a AS (SELECT 1) SELECT * FROM a", "", "'"):
        assert typed_of(text) is None
    assert read_typed(tokenize("DELETE FROM t"), "DELETE FROM t") is None


def test_policies_named_by_identifier_leave_the_text_whole():
    """`IDENTIFIER('s.p')` goes with the clause that it stands in, to its bracket."""
    statement = parse("CREATE TABLE t (a STRING MASKING POLICY IDENTIFIER('s.p'), b INT) TAG (g = 'x')")
    assert statement.without_changes.split() == ["CREATE", "TABLE", "t", "(a", "STRING", ",", "b", "INT)"]
    assert [change.name for change in statement.changes] == [("s", "p"), ("g",)]
    assert parse("CREATE TABLE t (a STRING)").without_changes == ""
