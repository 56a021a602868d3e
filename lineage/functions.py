"""User-defined functions from their DDL.

In: the text of a CREATE FUNCTION. Out: a `Function`, with its body where that is SQL. For catalogs that
are given functions as text, and for scripts that create them on their way.
"""

from __future__ import annotations

from lineage.cursor import Cursor
from lineage.errors import BadFunctionError
from lineage.model import Function
from lineage.policy_commands import take_if
from lineage.tokens import tokenize

_BEFORE_BODY = frozenset({"RETURN", "AS"})

_AFTER_TYPE = ("DEFAULT", "COMMENT", "NOT")


def read_function(text: str) -> Function:
    """The function that a CREATE FUNCTION makes; its name is as it was written.

    A function with `RETURN` is SQL and keeps its body; any other (`AS 'class'`, `LANGUAGE PYTHON`) has
    none.

    Raises:
        BadFunctionError: the text is no CREATE FUNCTION.

    >>> read_function("CREATE FUNCTION f(n INT) RETURNS INT RETURN n + 1").argument_signature
    '(n INT)'
    """
    at = Cursor(tokenize(text) or [], text)
    at.take("CREATE")
    at.take("OR", "REPLACE")
    at.take_one("TEMPORARY", "TEMP")
    if not at.take("FUNCTION"):
        raise BadFunctionError(text)
    take_if(at)
    name = at.name()
    if not name:
        raise BadFunctionError(text)
    parameters = at.columns(*_AFTER_TYPE)
    data_type, is_table = _returned(at)
    language = ""
    while not at.done and at.word() not in _BEFORE_BODY:
        language = at.word(1) if at.word() == "LANGUAGE" else language
        at.at += 1
    body = at.span() if at.take("RETURN") and language in ("", "SQL") else None
    return Function(name[-1], None, parameters, data_type, body or None, is_table)


def function_named(text: str) -> tuple[str, ...]:
    """The function of the catalog that a CREATE or DROP FUNCTION is about; () for a temporary one.

    >>> function_named("CREATE OR REPLACE FUNCTION s.f(n INT) RETURNS INT RETURN n + 1")
    ('s', 'f')
    """
    at = Cursor(tokenize(text) or [], text)
    if not at.take_one("CREATE", "DROP"):
        return ()
    at.take("OR", "REPLACE")
    if not at.take("FUNCTION"):
        return ()
    take_if(at)
    return at.name()


def _returned(at: Cursor) -> tuple[str, bool]:
    if not at.take("RETURNS"):
        return "", False
    if at.word() == "TABLE":
        at.at += 1
        fields = ",".join(f"`{c.name}`:{c.type}" for c in at.columns(*_AFTER_TYPE))
        return (f"struct<{fields}>" if fields else ""), True
    return at.type_span(
        "RETURN", "AS", "LANGUAGE", "COMMENT", "DETERMINISTIC", "NOT", "CONTAINS", "READS", "SQL"
    ), False
