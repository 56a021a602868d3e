"""User-defined functions from their DDL.

In: the tokens of a CREATE FUNCTION, or its text. Out: a `Function`, with its body where that is SQL. For
statements, for scripts that create functions on their way, and for catalogs that are given them as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage.errors import BadFunctionError
from lineage.model import Function
from lineage.names import sql_name
from lineage.sql.commands.governance.policy import take_if
from lineage.sql.cursor import Cursor
from lineage.sql.tokens import tokenize, without_semicolons

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from lineage.sql.commands.command import Name

_BEFORE_BODY = frozenset({"RETURN", "AS"})

_AFTER_TYPE = ("DEFAULT", "COMMENT", "NOT")


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """A CREATE FUNCTION.

    Attributes:
        name: the parts, as written.
        temporary: it belongs to the session.
        function: what it makes.
    """

    name: Name
    temporary: bool
    function: Function


def read_create_function(tokens: list[Token], text: str) -> CreateFunction | None:
    """The function that a CREATE FUNCTION makes; None for any other statement.

    A function with `RETURN` is SQL and keeps its body; any other (`AS 'class'`, `LANGUAGE PYTHON`) has
    none.
    """
    at = Cursor(tokens, text)
    if not at.take("CREATE"):
        return None
    at.take("OR", "REPLACE")
    temporary = bool(at.take_one("TEMPORARY", "TEMP"))
    if not at.take("FUNCTION"):
        return None
    take_if(at)
    name = at.name()
    if not name:
        return None
    parameters = at.columns(*_AFTER_TYPE)
    data_type, is_table = _returned(at)
    language = ""
    # LANGUAGE, DETERMINISTIC, COMMENT and the like come in any order (Spark's `routineCharacteristics`).
    while not at.done and at.word() not in _BEFORE_BODY:
        language = at.word(1) if at.word() == "LANGUAGE" else language
        at.at += 1
    body = at.span() if at.take("RETURN") and language in ("", "SQL") else None
    return CreateFunction(
        name, temporary, Function(name[-1], None, parameters, data_type, body or None, is_table)
    )


def read_function(text: str) -> Function:
    """The function that the text of a CREATE FUNCTION makes; its name is as it was written.

    Raises:
        BadFunctionError: the text is no CREATE FUNCTION.

    >>> read_function("CREATE FUNCTION f(n INT) RETURNS INT RETURN n + 1").argument_signature
    '(n INT)'
    """
    found = read_create_function(without_semicolons(tokenize(text) or []), text)
    if found is None:
        raise BadFunctionError(text)
    return found.function


def _returned(at: Cursor) -> tuple[str, bool]:
    if not at.take("RETURNS"):
        return "", False
    if at.word() == "TABLE":
        at.at += 1
        # The type of a struct, which `lineage.types` cuts into the columns of the function's table.
        fields = ",".join(f"{sql_name((c.name,))}:{c.type}" for c in at.columns(*_AFTER_TYPE))
        return (f"struct<{fields}>" if fields else ""), True
    return at.type_span(
        "RETURN", "AS", "LANGUAGE", "COMMENT", "DETERMINISTIC", "NOT", "CONTAINS", "READS", "SQL"
    ), False
