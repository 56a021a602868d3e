"""Tokens: the string literals of Spark, as every reader of statements sees them."""

from __future__ import annotations

import pytest
from sqlglot.tokenizer_core import TokenType

from lineage import MemoryCatalog, analyze, parse
from lineage.sql.tokens import tokenize, word

DOUBLED = {
    "'it''s'": "it's",
    '"a""b"': 'a"b',
    "'a''''b'": "a''b",
    "''''": "'",
    "'it''s ''so'''": "it's 'so'",
    "'a\\'''b'": "a''b",
    "'\\\\''b'": "\\'b",
    "'😀''ü'": "😀'ü",
}
APART = {
    "'a' 'b'": ["a", "b"],
    "'a'/**/'b'": ["a", "b"],
    "'a'\"b\"": ["a", "b"],
    "r'a\\''b'": ["a\\", "b"],
    "r'a'r'b'": ["a", "b"],
    "r'a''b''c'": ["a", "b'c"],
    "'', ''": ["", ",", ""],
}


@pytest.mark.parametrize("literal", DOUBLED)
def test_a_doubled_quote_stands_for_one_within_a_single_string(literal):
    """Spark 4.0+ reads one literal, whose token spans all of it, after a word that sqlglot swallows too."""
    for before in ("SELECT ", "😀 = ", "SHOW TABLES LIKE "):
        text = f"{before}{literal} , x"
        tokens = tokenize(text)
        string = tokens[-3]
        assert (string.token_type, string.text) == (TokenType.STRING, DOUBLED[literal])
        assert text[string.start : string.end + 1] == literal
        assert [token.token_type for token in tokens].count(TokenType.STRING) == 1


@pytest.mark.parametrize("text", APART)
def test_literals_that_follow_each_other_stay_apart(text):
    """With a blank between, with other quotes or raw, they are several: Spark joins them without a quote."""
    assert [token.text for token in tokenize(text)] == APART[text]


NAMES = {
    "'it''s'": "it's",
    '"a""b"': 'a"b',
    "'a''' || b": "concat(a', b)",
    "r'a\\b'": "a\\b",
    "'a' ' ' 'b'": "a b",
    "concat('a', 'b')": "concat(a, b)",
    "CONCAT('a' 'b', b)": "concat(ab, b)",
}


@pytest.mark.parametrize("text", NAMES)
def test_an_output_is_named_after_the_value_of_its_literal(text):
    """With its quotes, and joined with the literals that follow it."""
    access = analyze(f"SELECT {text} FROM t", MemoryCatalog(tables={"default.t": {"b": "string"}}))
    assert access.columns[0].name == NAMES[text]


def test_the_text_of_a_raw_string_is_no_word():
    """Raw strings are strings: no keyword, and read wherever a command takes a string."""
    text = "SELECT r'FROM', R\"\\\" "
    tokens = tokenize(text)
    assert [word(tokens, at) for at in range(4)] == ["SELECT", "", ",", ""]
    assert [text[token.start : token.end + 1] for token in tokens[1::2]] == ["r'FROM'", 'R"\\"']
    assert parse("ALTER TAG t SET COMMENT = r'a\\b'").command.properties == (("comment", "a\\b"),)
