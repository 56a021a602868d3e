"""Tokens and the cursor over them: names, brackets, strings, and scripts cut into statements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.model import Column
from lineage.sql.cursor import Cursor
from lineage.sql.tokens import (
    bracket_depth,
    closing_bracket,
    deeper_than,
    read_name,
    split_statements,
    tokenize,
    word,
)


def cursor(text):
    """A cursor at the start of a text."""
    return Cursor(tokenize(text), text)


@pytest.mark.parametrize(
    "text",
    ["SELECT '", "SELECT `a", 'SELECT "a', "SELECT 'a\\'", "EXECUTE IMMEDIATE 'x", "SHOW TABLES LIKE 'x"],
)
def test_a_text_with_an_open_quote_has_no_tokens(text):
    """Nobody can tell where its words are."""
    assert tokenize(text) is None


@pytest.mark.parametrize(
    "first", ["SHOW", "EXECUTE IMMEDIATE", "FETCH", "RENAME", "CALL", "SELECT", "EXPLAIN"]
)
def test_words_behind_a_command_are_tokens_of_their_own(first):
    """Each with its place in the text, also after another such word."""
    text = f"{first} 'a;b' `c d` show 😀 /* x */ (1) execute"
    found = [(token.text, text[token.start : token.end + 1]) for token in tokenize(text)]
    behind = [("a;b", "'a;b'"), ("c d", "`c d`"), *((t, t) for t in ("show", "😀", "(", "1", ")", "execute"))]
    assert found[-len(behind) :] == behind


def test_a_quoted_word_is_no_keyword():
    """Neither is what lies outside of the text."""
    tokens = tokenize("select `from` 'where' \"x\" t")
    assert [word(tokens, at) for at in range(-1, 6)] == ["", "SELECT", "", "", "", "T", ""]


@pytest.mark.parametrize(
    ("text", "name", "stop"),
    [
        ("a.b.c d", ("a", "b", "c"), 5),
        ("a . `b.c` d", ("a", "b.c"), 3),
        ("select.from", ("select", "from"), 3),
        ("_a.2024_b", ("_a", "2024_b"), 3),
        ("größe.表", ("größe", "表"), 3),
        ("'a'.b", (), 0),
        ("1", (), 0),
        ("(a)", (), 0),
        ("", (), 0),
    ],
)
def test_a_dotted_name_is_read_to_its_end(text, name, stop):
    """Keywords and digits may be names; strings, numbers and brackets are none."""
    assert read_name(tokenize(text), 0) == (name, stop)


@pytest.mark.parametrize(
    ("text", "close"), [("(a)", 2), ("((a) b) c", 5), ("(')' b)", 3), ("(`)`)", 2), ("(a", 1), ("(", 0)]
)
def test_a_bracket_is_closed_by_its_own(text, close):
    """Brackets in quotes do not count; without one it is the last token."""
    assert closing_bracket(tokenize(text), 0) == close


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("a", 0),
        ("(a) (b)", 1),
        ("([{a}])", 3),
        ("CASE WHEN a THEN CASE WHEN b THEN 1 END END", 2),
        ("NOT NOT NOT a", 3),
        ("- - ~a", 3),
        ("(NOT (a))", 2),
        ("'((((' `((((`", 0),
    ],
)
def test_nesting_is_counted(text, depth):
    """Brackets, CASE and prefix operators; the quick look gives the same answer."""
    assert bracket_depth(tokenize(text)) == depth
    for levels in range(5):
        assert deeper_than(levels, tokenize(text), text.upper()) is (depth > levels)


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" ; ;; ", []),
        ("-- only a comment", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;;\nSELECT 2;", ["SELECT 1", "SELECT 2"]),
        (r"SELECT 'a\';b'; SELECT `;`, \";\"".replace(r"\"", '"'), [r"SELECT 'a\';b'", 'SELECT `;`, ";"']),
        ("/* ; */ SELECT 1 /* ; */; SELECT 2 -- ;", ["/* ; */ SELECT 1 /* ; */", "SELECT 2 -- ;"]),
        ("SELECT 'open; SELECT 2", ["SELECT 'open; SELECT 2"]),
        ("BEGIN SELECT 1; END; SELECT 2", ["BEGIN SELECT 1; END", "SELECT 2"]),
        (
            "SELECT 0; l: BEGIN SELECT 1; END l; SELECT 2;",
            ["SELECT 0", "l: BEGIN SELECT 1; END l", "SELECT 2"],
        ),
        ("BEGIN SELECT 1; SELECT 2", ["BEGIN SELECT 1; SELECT 2"]),
        ("BEGIN TRANSACTION; SELECT 1; COMMIT", ["BEGIN TRANSACTION", "SELECT 1", "COMMIT"]),
        ("BEGIN; SELECT 1; END; SELECT 2", ["BEGIN", "SELECT 1", "END", "SELECT 2"]),
    ],
)
def test_a_text_is_cut_at_the_semicolons_between_statements(text, statements):
    """Those in quotes, comments and blocks stay; a quote that is open leaves the text whole."""
    assert split_statements(text) == statements


BLOCKS = [
    "BEGIN END",
    "BEGIN BEGIN SELECT 1; END; SELECT 2; END",
    "BEGIN IF a THEN SELECT 1; ELSE SELECT 2; END IF; END",
    "BEGIN SELECT if(a, 1, 2), CASE WHEN b THEN 1 END AS c; END",
    "BEGIN CASE a WHEN 1 THEN SELECT 1; ELSE SELECT CASE WHEN b THEN 1 END; END CASE; END",
    "BEGIN WHILE a DO SELECT 1; END WHILE; LOOP LEAVE l; END LOOP l; END",
    "BEGIN FOR r AS SELECT 1 DO SELECT r.a; END FOR; REPEAT SELECT 1; UNTIL a END REPEAT; END",
    "l: BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 1; END; SELECT 'END;'; END l",
    "BEGIN SELECT begins, `end`, end, a FROM t; SELECT 1; END",
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_is_one_statement_of_several(block):
    """Loops, conditions, handlers, expressions and columns inside do not end it."""
    assert split_statements(f"SELECT 1;\n{block};\n{block} ; SELECT 3") == [
        "SELECT 1",
        block,
        block,
        "SELECT 3",
    ]


PIECES = ["SELECT 1", "SELECT ';'", "SELECT `;`", "/* ; */ SELECT 2", "DROP TABLE t", *BLOCKS]


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([";", " ; ", ";\n;", "; -- ;\n"]))))
def test_statements_that_are_joined_come_apart_again(script):
    """In their order, whatever separates them."""
    text = "".join(statement + end for statement, end in script)
    found = [one.removeprefix("-- ;\n").strip() for one in split_statements(text)]
    assert found == [statement for statement, _ in script]


@pytest.mark.parametrize(
    ("text", "value", "values"),
    [
        ("'a' 'b'", "ab", ("ab",)),
        ("'a'\n\"b\"", "ab", ("ab",)),
        ("'it''s'", "it's", ("it's",)),
        ('"say ""x"""', 'say "x"', ('say "x"',)),
        ("''''", "'", ("'",)),
        ("'' ''", "", ("",)),
        ("'a'\"b\"", "ab", ("ab",)),
        (r"'a\'b'", "a'b", ("a'b",)),
        ("'a', 'b' , 'c' d", "a", ("a", "b", "c")),
        ("'a',", "a", ("a",)),
        ("a", None, ()),
        ("`a`", None, ()),
        ("", None, ()),
    ],
)
def test_literals_are_read_as_spark_reads_them(text, value, values):
    """Two quotes side by side are one quote (Spark 4.0); literals apart from each other are joined."""
    assert cursor(text).string() == value
    assert cursor(text).strings() == values


@given(st.text(st.characters(exclude_characters="\\\x00", exclude_categories=["Cs"]), max_size=12))
def test_a_doubled_quote_stands_for_itself(value):
    """Any value that holds no back-slash comes back from a literal with its quotes doubled."""
    for quote in "'\"":
        assert cursor(quote + value.replace(quote, quote * 2) + quote).string() == value


def test_words_are_taken_all_or_none():
    """A sequence that does not stand there leaves the place as it is; a quoted word is none."""
    at = cursor("if NOT exists `x` y")
    assert not at.take("IF", "EXISTS")
    assert at.take("IF", "NOT", "EXISTS")
    assert at.take_one("X", "Y") == ""
    assert (at.name(), at.word(), at.take_one("X", "Y"), at.done) == (("x",), "Y", "Y", True)
    assert (at.word(), at.name(), at.string(), at.names(), at.columns(), at.span()) == (
        "",
        (),
        None,
        (),
        (),
        "",
    )


@pytest.mark.parametrize(
    ("text", "stops", "span"),
    [
        ("f(a, b) , c", (",",), "f(a, b)"),
        ("(SELECT 1 FROM t) + 2 FROM u", ("FROM",), "(SELECT 1 FROM t) + 2"),
        ("a[1, {2, 3}], b", (",",), "a[1, {2, 3}]"),
        ("`from` || 'from' FROM t", ("FROM",), "`from` || 'from'"),
        ("a /* , */  + 1, b", (",",), "a /* , */  + 1"),
        ("a) b", (")",), "a"),
        (", a", (",",), ""),
        ("a b", (), "a b"),
    ],
)
def test_an_expression_ends_at_a_word_outside_brackets(text, stops, span):
    """As it is written, with its comments and blanks."""
    assert cursor(text).span(*stops) == span


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "(a INT, b MAP<STRING, ARRAY<ARRAY<INT>>>, `c d` DECIMAL(10, 2))",
            [("a", "INT"), ("b", "MAP<STRING, ARRAY<ARRAY<INT>>>"), ("c d", "DECIMAL(10, 2)")],
        ),
        (
            "(a INT COMMENT 'x, y)', b INT DEFAULT f(1, 2) > 0, c INT)",
            [("a", "INT"), ("b", "INT"), ("c", "INT")],
        ),
        ("(a STRUCT<b: INT, c: STRUCT<d: INT>> COMMENT 'x')", [("a", "STRUCT<b: INT, c: STRUCT<d: INT>>")]),
        ("(a, b)", [("a", ""), ("b", "")]),
        ("()", []),
        ("a INT", []),
        ("(1 INT)", []),
    ],
)
def test_columns_have_names_and_types(text, columns):
    """A type ends at a comma or at one of the given words; brackets of every kind nest."""
    assert cursor(text).columns("COMMENT", "DEFAULT") == tuple(Column(*column) for column in columns)


@pytest.mark.parametrize(
    ("text", "names"),
    [("(a, s.b, `c d`)", ("a", "b", "c d")), ("()", ()), ("a", ()), ("(1)", ()), ("('a')", ())],
)
def test_names_in_brackets_are_their_last_parts(text, names):
    """Without brackets, or with something else in them, there are none."""
    assert cursor(text).names() == names
