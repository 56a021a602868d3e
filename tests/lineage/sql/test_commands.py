"""Commands that Spark has and sqlglot lacks: what their readers find."""

from __future__ import annotations

import pytest

from lineage import parse

VALUES_THAT_READ = {
    "DECLARE x INT DEFAULT (SELECT max(a) FROM t)": "(SELECT max(a) FROM t)",
    "DECLARE OR REPLACE VARIABLE x INT = (FROM t |> AGGREGATE max(a))": "(FROM t |> AGGREGATE max(a))",
    "DECLARE x INT DEFAULT ((TABLE t))": "((TABLE t))",
    "SET VAR x = 1, y = (VALUES 1)": "1, (VALUES 1)",
    "SET VARIABLE (x, y) = (WITH c AS (TABLE t) FROM c)": "(WITH c AS (TABLE t) FROM c)",
    "DECLARE x STRING DEFAULT 'SELECT'": None,
    "DECLARE x STRING DEFAULT `from`": None,
    "SET VAR x = 'read (SELECT a FROM t)'": None,
    "SET VAR x = extract(YEAR FROM d), y = trim(BOTH ' ' FROM z)": None,
}


@pytest.mark.parametrize("text", VALUES_THAT_READ)
def test_a_value_reads_where_a_query_stands_in_brackets(text):
    """By the words of the statement, not by the letters of its strings and names."""
    assert parse(text).command.text == VALUES_THAT_READ[text]


IMMEDIATE = {
    "'SELECT 1'": "SELECT 1",
    "'SELECT' ' 1' USING 1 AS x": "SELECT 1",
    "'SELECT 1' || ', a FROM t'": "SELECT 1, a FROM t",
    "concat('SELECT', ' \\'', ('x' || '\\''))": "SELECT 'x'",
    "r'SELECT 1' INTO x": "SELECT 1",
    "'SELECT 1' || v": None,
    "concat('SELECT 1', v)": None,
    "('SELECT', ' 1')": None,
    "upper('SELECT 1')": None,
    "'SELECT 1' COLLATE UNICODE": None,
    "v": None,
    "": None,
}


@pytest.mark.parametrize("expression", IMMEDIATE)
def test_what_execute_immediate_runs_is_known_of_literals_alone(expression):
    """Spark 4.2 takes an expression; one that is more than literals put together says nothing."""
    assert parse(f"EXECUTE IMMEDIATE {expression}").command.text == IMMEDIATE[expression]


@pytest.mark.parametrize("name", ["'s.t'", "'s' || '.t'", "concat('s.', 't')", "'s' '.t'"])
def test_identifier_of_literals_is_a_name(name):
    """However the literals are put together."""
    assert parse(f"SELECT * FROM IDENTIFIER({name})").references == (("s", "t"),)


COMMENTS = {"'it''s'": "it's", "'a' 'b'": "ab", "NULL": None, "''": "", "r'a\\b'": "a\\b", "'NULL'": "NULL"}


@pytest.mark.parametrize("comment", COMMENTS)
def test_a_comment_is_a_string_or_none(comment):
    """IS NULL takes it away: it is no comment of four letters."""
    for noun in ("TABLE", "SCHEMA"):
        properties = parse(f"COMMENT ON {noun} s IS {comment}").command.properties
        assert properties == (("comment", COMMENTS[comment]),)


PAIRS = {
    "SET TBLPROPERTIES ('a' = 'b', c.d = true)": (("a", "b"), ("c.d", "true")),
    "SET TBLPROPERTIES ('a' 'b', c.d true, e . f 3)": (("a", "b"), ("c.d", "true"), ("e.f", "3")),
    "SET TBLPROPERTIES (`c d`.e 'x', f)": (("c d.e", "x"), ("f", None)),
    "SET TBLPROPERTIES ('c.d' 1.5, 'it''s' 'O''Brien')": (("c.d", "1.5"), ("it's", "O'Brien")),
    "UNSET TBLPROPERTIES IF EXISTS (c.d, 'e')": (("c.d", None), ("e", None)),
}


@pytest.mark.parametrize("clause", PAIRS)
def test_a_property_may_do_without_its_equals_sign(clause):
    """Spark's propertyList: what follows a key, and neither touches it nor its dot, is the value."""
    assert parse(f"ALTER TABLE t {clause}").command.properties == PAIRS[clause]


CATALOGS = {
    "SET CATALOG c": ("USE", ("c",)),
    "set catalog 'c';": ("USE", ("c",)),
    "SET CATALOG IDENTIFIER('c')": ("USE", ("c",)),
    "USE CATALOG `a.b`": ("USE", ("a.b",)),
    "USE CATALOG 'c'": ("USE", ("c",)),
    "SET catalog.x = y": ("SET", ()),
    "SET catalog = y": ("SET", ()),
    "SET CATALOG": ("SET", ()),
}


@pytest.mark.parametrize("text", CATALOGS)
def test_two_statements_change_the_current_catalog(text):
    """Spark's is SET CATALOG, the other is USE CATALOG; a setting may begin with the word."""
    command = parse(text).command
    kind, name = CATALOGS[text]
    assert (command.kind, command.target, command.source) == (kind, name, ("CATALOG",) if name else ())


def test_a_catalog_by_an_expression_is_not_known():
    """Nothing follows of a name that Spark alone can evaluate."""
    assert parse("SET CATALOG IDENTIFIER(x)").reason == "IDENTIFIER() of an expression"


CHAINS = {
    "SHOW TABLES": "SHOW",
    "/* s */ show tables": "SHOW",
    "DESC t": "DESCRIBE",
    "DESCRIBE t": "DESCRIBE",
}


@pytest.mark.parametrize("first", CHAINS)
def test_a_chain_is_what_its_first_word_says(first):
    """By the word of the statement, which its value keeps."""
    statement = parse(f"{first} ->> SELECT * FROM $1")
    assert (statement.statement_type, statement.typed.kind) == (CHAINS[first], CHAINS[first])
