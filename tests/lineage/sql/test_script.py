"""Statements inside scripts: where each stands, and which come to Spark as EXECUTE IMMEDIATE."""

from __future__ import annotations

import pytest

from lineage.sql.own_statements import is_own
from lineage.sql.parse import parse
from lineage.sql.script import statement_at, steps, with_immediate

from .forms import FORMS

OWN = [text for text in FORMS if is_own(parse(text))]
FRAMES = (
    "BEGIN {}; END",
    "BEGIN\n  -- why\n  {};\nEND;",
    "outer: BEGIN SELECT 1; {}; END outer",
    "BEGIN IF a > 1 THEN {}; ELSEIF b THEN SELECT 1; ELSE SELECT 2; END IF; END",
    "BEGIN IF a > 1 THEN SELECT 1; ELSE {}; END IF; END",
    "BEGIN DECLARE n INT DEFAULT 3; WHILE n > 0 DO {}; SET n = n - 1; END WHILE; END",
    "BEGIN LOOP {}; LEAVE l; END LOOP; END",
    "BEGIN REPEAT {}; UNTIL n > 3 END REPEAT; END",
    "BEGIN CASE WHEN a THEN {}; ELSE SELECT 1; END CASE; END",
    "BEGIN FOR r AS SELECT a FROM t DO {}; END FOR; END",
    "BEGIN BEGIN {}; END; SELECT CASE WHEN a THEN 1 ELSE 2 END; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN {}; END; SELECT 1; END",
)


USING = " USING v AS v, w AS w"


def quoted(text):
    """A text inside EXECUTE IMMEDIATE, as the dialect quotes it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"EXECUTE IMMEDIATE '{escaped}'"


RESTORED = quoted("RESTORE t TO AT (OFFSET => :r_a)") + " USING r.a AS r_a"


@pytest.mark.parametrize("frame", FRAMES)
def test_every_place_of_a_script(frame):
    """A statement of ours becomes EXECUTE IMMEDIATE, all else stays to the letter."""
    for text in OWN:
        assert with_immediate(frame.format(text)) == frame.format(quoted(text))


@pytest.mark.parametrize("frame", FRAMES)
def test_a_script_of_sparks_own_stays_as_it_is(frame):
    """Even where it speaks of ours."""
    for text in ("SELECT 'UNDROP TABLE t'", "INSERT INTO t SELECT at FROM u", "CREATE TABLE t (a INT)"):
        assert with_immediate(frame.format(text)) == frame.format(text)


@pytest.mark.parametrize(
    ("script", "sent"),
    [
        (
            "BEGIN DECLARE v INT; FROM t AT (OFFSET => v * 2); END",
            "BEGIN DECLARE v INT; EXECUTE IMMEDIATE 'FROM t AT (OFFSET => :v * 2)' USING v AS v; END",
        ),
        (
            "BEGIN DECLARE v, w INT; CREATE TABLE v CLONE t AT (OFFSET => v + w); END",
            f"BEGIN DECLARE v, w INT; {quoted('CREATE TABLE v CLONE t AT (OFFSET => :v + :w)')}{USING}; END",
        ),
        (
            "BEGIN FOR r AS SELECT 1 AS a DO RESTORE t TO AT (OFFSET => r.a); END FOR; END",
            f"BEGIN FOR r AS SELECT 1 AS a DO {RESTORED}; END FOR; END",
        ),
        (  # Spark's own form obeys the retention, too
            "BEGIN SELECT 1; SELECT a FROM t VERSION AS OF 3; END",
            "BEGIN SELECT 1; EXECUTE IMMEDIATE 'SELECT a FROM t VERSION AS OF 3'; END",
        ),
        (  # outside of the clause nobody can tell a variable from a column
            "BEGIN DECLARE v INT; SELECT v FROM t AT (OFFSET => -60); END",
            "BEGIN DECLARE v INT; SELECT v FROM t AT (OFFSET => -60); END",
        ),
        (  # no statement of its own
            "BEGIN IF EXISTS (SELECT * FROM t AT (OFFSET => -60)) THEN SELECT 1; END IF; END",
            "BEGIN IF EXISTS (SELECT * FROM t AT (OFFSET => -60)) THEN SELECT 1; END IF; END",
        ),
        ("BEGIN SELECT 'open; END", "BEGIN SELECT 'open; END"),
    ],
)
def test_variables_of_points_are_handed_over(script, sent):
    """By USING: inside EXECUTE IMMEDIATE a script's variables are out of sight."""
    assert with_immediate(script) == sent


@pytest.mark.parametrize("frame", FRAMES)
def test_the_statement_around_a_word(frame):
    """By the place of any of its characters."""
    text = "INSERT INTO wanted SELECT 1"
    script = frame.format(text)
    at = script.index("wanted")
    assert statement_at(script, at, at + 5).endswith(text)


def test_a_case_inside_an_expression_opens_nothing():
    """In the query of a FOR, in a condition, in a statement; nested, and beside a CASE of the script."""
    inner = "CASE WHEN a > 1 THEN CASE WHEN b THEN 1 ELSE 2 END ELSE s.end END"
    script = (
        f"BEGIN FOR r AS SELECT {inner} AS c FROM t DO INSERT INTO u VALUES (r.c); END FOR;"
        f" IF {inner} > 1 THEN SELECT 1; ELSEIF {inner} > 2 THEN SELECT 2; ELSE SELECT 3; END IF;"
        f" CASE {inner} WHEN {inner} THEN SELECT {inner}; ELSE SELECT 5; END CASE;"
        f" one: WHILE {inner} > 1 DO SELECT 6; END WHILE one;"
        f" REPEAT SELECT 7; UNTIL {inner} > 1 END REPEAT; END"
    )
    found = [step.text for step in steps(script) if step.text]
    numbers = [f"SELECT {one}" for one in (1, 2, 3, inner, 5, 6, 7)]
    assert found == [f"SELECT {inner} AS c FROM t", "INSERT INTO u VALUES (r.c)", *numbers]
    at = script.index("INSERT")
    assert statement_at(script, at, at + 5) == "INSERT INTO u VALUES (r.c)"
    at = script.index("SELECT 7")
    assert statement_at(script, at, at + 5) == "SELECT 7"
    assert "FOR r AS SELECT" in with_immediate(script.replace("SELECT 7", "UNDROP TABLE t"))
    assert "EXECUTE IMMEDIATE 'UNDROP TABLE t'" in with_immediate(
        script.replace("SELECT 7", "UNDROP TABLE t")
    )
