"""The statements of a SQL script, by their place in its text.

In: a script (BEGIN … END). Out: the one statement around a span of characters; the script with some of its
statements as EXECUTE IMMEDIATE, so that Spark parses each by itself when it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage.names import sql_text
from lineage.sql.commands.time_travel.at_before import VersionClause
from lineage.sql.own_statements import is_own
from lineage.sql.parameters import points_of
from lineage.sql.parse import parse
from lineage.sql.tokens import tokenize, word

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from lineage.sql.statement import Statement

# A script begins with BEGIN or, as Spark 4.2 has it, BEGIN NOT ATOMIC.
_OPENERS = frozenset({"BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "ATOMIC"})
# What begins a statement that only a script can hold: its queries are no statements of their own.
_CONTROL = frozenset(
    {"BEGIN", "DECLARE", "SET", "IF", "ELSEIF", "ELSE", "CASE", "WHEN", "WHILE", "FOR", "UNTIL", "END",
     "LEAVE", "ITERATE", "LOOP", "REPEAT", "OPEN", "FETCH", "CLOSE", "SIGNAL", "RESIGNAL"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """What a script does next: run a statement, or begin (`loop`) or end (`ends`) a loop over rows.

    `text` is the statement or the query, `loop` the name of the rows, "" where they have none.
    """

    text: str = ""
    loop: str | None = None
    ends: bool = False


def steps(script: str) -> Iterator[Step]:
    """The statements of a script in their order, each branch once, and the loops around them.

    >>> for step in steps("BEGIN FOR r AS SELECT a FROM t DO INSERT INTO u VALUES (r.a); END FOR; END"):
    ...     print(step.text or "end", step.loop)
    SELECT a FROM t r
    INSERT INTO u VALUES (r.a) None
    end None
    """
    tokens = tokenize(script) or []
    for first, at in _pieces(tokens):
        here = word(tokens, at)
        if here == ";":
            yield from _step(script, tokens, first, at)
        elif here == "DO":
            yield from _loop(script, tokens, first, at)


def _pieces(tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """The first token of each statement, and of each head such as `IF a THEN`, with the one that ends it."""
    first = cases = 0
    for at in range(len(tokens)):
        here = word(tokens, at)
        if here == ";":
            yield first, at
            first, cases = at + 1, 0
        elif here == "CASE" and at != _beginning(tokens, first):
            cases += 1  # an expression, whose THEN and ELSE open nothing
        elif here == "END" and cases and word(tokens, at - 1) != ".":
            cases -= 1
        elif here in _OPENERS and not cases and _is_control(tokens, first):
            yield first, at
            first = at + 1


def _step(script: str, tokens: list[Token], first: int, end: int) -> Iterator[Step]:
    start = word(tokens, first)
    text = script[tokens[first].start : tokens[end].start].strip() if first < end else ""
    if start == "END" and word(tokens, first + 1) == "FOR":
        yield Step(ends=True)
    elif start == "SET":
        yield Step(f"SET VAR {text[3:].strip()}")  # inside a script SET assigns variables (Spark 4.2)
    elif start == "DECLARE":
        # DECLARE … HANDLER and … CONDITION declare no variable.
        if not {"HANDLER", "CONDITION"} & {word(tokens, at) for at in range(first, end)}:
            yield Step(text)
    elif text and start not in _CONTROL:
        yield Step(text)


def _loop(script: str, tokens: list[Token], first: int, end: int) -> Iterator[Step]:
    """The head of a FOR: `[label:] FOR [rows AS] query DO`."""
    at = _beginning(tokens, first)
    if word(tokens, at) != "FOR":
        return
    named = word(tokens, at + 2) == "AS"
    query = at + 3 if named else at + 1
    text = script[tokens[query].start : tokens[end].start].strip()
    yield Step(text, tokens[at + 1].text if named else "")


def statement_at(script: str, first: int, last: int) -> str:
    """The statement of a script that holds the characters `first` to `last` (both included).

    >>> statement_at("BEGIN INSERT INTO t VALUES (1); SELECT 2; END", 35, 36)
    'SELECT 2'
    """
    tokens = tokenize(script)
    if tokens is None:
        return script[first : last + 1]
    start, end = 0, len(script)
    for _, at in _pieces(tokens):
        token = tokens[at]
        if word(tokens, at) == ";" and token.start > last:
            end = token.start
            break
        if token.end < first:
            start = token.end + 1
    return script[start:end].strip()


def with_immediate(script: str) -> str:
    r"""A script whose statements of this project's own stand inside EXECUTE IMMEDIATE.

    Spark 4.2 reads a script as one text: a statement that its grammar lacks fails all of it, and no parser
    sees the inner ones. The text of EXECUTE IMMEDIATE comes back through the parser when it runs, so control
    flow and handlers stay as they are. Local variables are out of sight there: those of a point in time are
    handed over by USING, and a query of the past that names one elsewhere is left as it is.

    >>> print(with_immediate("BEGIN SELECT 1; UNDROP TABLE t; END"))
    BEGIN SELECT 1; EXECUTE IMMEDIATE 'UNDROP TABLE t'; END
    >>> print(with_immediate("BEGIN DECLARE v INT; SELECT a FROM t AT (OFFSET => v); END"))
    BEGIN DECLARE v INT; EXECUTE IMMEDIATE 'SELECT a FROM t AT (OFFSET => :v)' USING v AS v; END
    """
    tokens = tokenize(script)
    if tokens is None:
        return script
    variables = _variables(tokens)
    found = script
    # From the end, so that earlier positions stay valid.
    for first, last in reversed(list(_statements(tokens))):
        start, stop = tokens[first].start, tokens[last].end + 1
        statement = parse(script[start:stop])
        inside, outside = _named(statement, variables)
        if is_own(statement) or (statement.points and not outside):
            found = found[:start] + _immediate(statement.text, inside) + found[stop:]
    return found


def _statements(tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """The first and last token of each statement that is not of the script's own kinds."""
    for first, at in _pieces(tokens):
        if word(tokens, at) == ";" and first < at and word(tokens, first) not in _CONTROL:
            yield first, at - 1


def _beginning(tokens: list[Token], first: int) -> int:
    """The first token of a statement behind its label, if it has one."""
    return first + 2 if word(tokens, first + 1) == ":" else first


def _is_control(tokens: list[Token], first: int) -> bool:
    """Whether what begins at a token is of the script's own kinds."""
    return word(tokens, _beginning(tokens, first)) in _CONTROL


def _variables(tokens: list[Token]) -> frozenset[str]:
    """The names that the script declares, and those of its FOR loops, in lower case."""
    found: set[str] = set()
    for at in range(len(tokens)):
        if word(tokens, at) == "DECLARE":
            name = at + 1
            while word(tokens, name) in ("OR", "REPLACE", "VAR", "VARIABLE"):
                name += 1
            found |= {token.text.lower() for token in tokens[name : name + 1]}
            while word(tokens, name + 1) == ",":
                name += 2
                found |= {token.text.lower() for token in tokens[name : name + 1]}
        # The row of a loop is named as a variable is, its columns by `r.a`.
        elif word(tokens, at) == "FOR" and word(tokens, at + 2) == "AS":
            found.add(tokens[at + 1].text.lower())
    return frozenset(found)


def _named(statement: Statement, variables: frozenset[str]) -> tuple[list[tuple[int, int, str]], bool]:
    """Where the points in time of a statement name variables, and whether it may name any elsewhere."""
    tokens, inside, outside = tokenize(statement.text) or [], list[tuple[int, int, str]](), False
    points = [point for point in points_of(statement) if isinstance(point, VersionClause) and point.inside]
    for at, token in enumerate(tokens):
        # Behind a dot it is a column or a field, behind a colon a parameter.
        if token.text.lower() not in variables or word(tokens, at - 1) in (".", ":"):
            continue
        if not any(point.inside <= token.start < point.stop for point in points):
            outside = True
            continue
        last = at
        while word(tokens, last + 1) == "." and last + 2 < len(tokens):
            last += 2
        # The name of a parameter is one word, so `r.a` is handed over as `r_a`.
        name = "_".join(part.text for part in tokens[at : last + 1 : 2])
        inside.append((token.start, tokens[last].end + 1, name))
    return inside, outside


def _immediate(text: str, names: list[tuple[int, int, str]]) -> str:
    """A statement as EXECUTE IMMEDIATE, with parameters in the place of what it names."""
    using: dict[str, str] = {}
    for start, stop, name in reversed(names):
        using[name] = text[start:stop]
        text = f"{text[:start]}:{name}{text[stop:]}"
    handed = ", ".join(f"{value} AS {name}" for name, value in reversed(using.items()))
    return f"EXECUTE IMMEDIATE {sql_text(text)}" + (f" USING {handed}" if handed else "")
