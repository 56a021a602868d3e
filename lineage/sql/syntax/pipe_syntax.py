"""Pipe syntax, `query |> operator |> …`, as the nested queries that it stands for (Spark 4.0).

In: the tokens of a statement. Out: tokens without `|>`, or None where an operator has no such form (GROUP BY
by number, which counts input columns). Each operator is one function from the query so far to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import Token, TokenType

from lineage.sql.tokens import CLOSING, OPENING, made_tokens, new_token, word

# The alias of a query so far: columns of it may still be named by the tables that they came from.
PIPED = "__piped"
# The alias of the query whose columns the condition of REPLACE ON may name.
REPLACING = "__replacing"
KEEPING_NAMES = frozenset({PIPED, REPLACING})
"""The aliases behind which a column may still be named by the table that it came from."""

_STARTS = frozenset({"SELECT", "FROM", "TABLE", "VALUES", "WITH", "("})
_SETS = frozenset({"UNION", "INTERSECT", "EXCEPT", "MINUS"})
_JOINS = frozenset({"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI", "LATERAL"})
_FLAT = _JOINS | {"WHERE"}
# Every other operator is one more level of brackets, and the parser goes no deeper.
_MOST = 100
_NOT_FROM = frozenset(
    {"SELECT", "WHERE", "GROUP", "GROUP BY", "ORDER", "ORDER BY", "LIMIT", "HAVING", *_SETS}
)
_AFTER_ITEMS = frozenset({"WINDOW", "GROUP", "GROUP BY"})
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_ENDS = _NAMES | {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.NUMBER, TokenType.STRING, TokenType.END}
Tokens = list[Token]


class _UnknownOperatorError(Exception):
    """An operator without a nested form."""


@dataclass(slots=True)
class _Query:
    """A query so far: what it selects from, and the conditions that no projection has closed yet."""

    source: Tokens
    where: list[Tokens] = field(default_factory=list)

    def select(self, items: Tokens, tail: Tokens | None = None) -> Tokens:
        """`SELECT items FROM source WHERE …`."""
        near = self.source[0]
        found = [*made_tokens("SELECT", near), *items, *made_tokens("FROM", near), *self.source]
        for at, condition in enumerate(self.where):
            found += [*made_tokens("AND" if at else "WHERE", near), *_bracketed(condition)]
        return found + (tail or [])

    def all(self, tail: Tokens | None = None) -> Tokens:
        """`SELECT * FROM source WHERE …`."""
        return self.select(made_tokens("*", self.source[0]), tail)


def without_pipes(tokens: Tokens) -> Tokens | None:
    """The same statement without pipe syntax; None where that is not possible.

    >>> from lineage.sql.tokens import tokenize
    >>> " ".join(t.text for t in without_pipes(tokenize("FROM t |> WHERE a > 1 |> SELECT b")))
    'SELECT b FROM t WHERE ( a > 1 )'
    """
    try:
        return _segment(tokens)
    except _UnknownOperatorError:
        return None


def _segment(tokens: Tokens) -> Tokens:
    """Tokens of one level of brackets: inner levels first, then the pipeline of this one."""
    tokens = _inner(tokens)
    cuts = _at_top(tokens, lambda at: tokens[at].token_type is TokenType.PIPE_GT)
    if not cuts:
        return tokens
    if sum(word(tokens, at + 1) not in _FLAT for at in cuts) > _MOST:
        raise _UnknownOperatorError
    start = _query_start(tokens, cuts[0])
    query = _started(tokens[start : cuts[0]])
    for first, last in zip(cuts, [*cuts[1:], len(tokens)], strict=True):
        operator = tokens[first + 1 : last]
        # A set operation behind an operator takes the whole pipeline so far as its left side.
        end = next(iter(_set_operations(operator)), len(operator))
        if end or not operator:
            query = _operated(query, operator[:end])
        if end < len(operator):
            query = _combined(query, operator[end:])
    return [*tokens[:start], *_closed(query)]


def _inner(tokens: Tokens) -> Tokens:
    found: Tokens = []
    at = 0
    while at < len(tokens):
        found.append(tokens[at])
        if word(tokens, at) == "(":
            end = _closing(tokens, at)
            found += _segment(tokens[at + 1 : end])
            at = end
        else:
            at += 1
    return found


def _closing(tokens: Tokens, at: int) -> int:
    depth = 0
    for n in range(at, len(tokens)):
        depth += (word(tokens, n) in OPENING) - (word(tokens, n) in CLOSING)
        if depth == 0:
            return n
    return len(tokens)


def _at_top(tokens: Tokens, fits: Callable[[int], bool]) -> list[int]:
    """The places outside brackets that fit."""
    found: list[int] = []
    depth = 0
    for at in range(len(tokens)):
        text = word(tokens, at)
        depth -= text in CLOSING
        if depth == 0 and fits(at):
            found.append(at)
        depth += text in OPENING
    return found


def _query_start(tokens: Tokens, end: int) -> int:
    """Where the query before the first `|>` begins: after CREATE … AS, INSERT INTO t, WITH … ."""
    words = [word(tokens, at) for at in range(end)]
    starts = _at_top(tokens[:end], lambda at: words[at] in _STARTS)
    first = words[0] if words else ""
    if first == "CREATE":
        starts = [at for at in starts if words[at - 1] == "AS"]
    elif first == "INSERT":
        starts = [at for at in starts if words[at] != "(" and words[at - 1] not in ("INTO", "OVERWRITE")]
    elif first == "WITH":
        starts = [at for at in starts[1:] if words[at] != "(" or words[at - 1] == ")"]
    if not starts:
        raise _UnknownOperatorError
    return starts[0]


def _started(tokens: Tokens) -> _Query:
    if not tokens:
        raise _UnknownOperatorError
    top = _at_top(tokens, lambda at: word(tokens, at) in _NOT_FROM)
    first = word(tokens, 0)
    if first == "FROM" and not top and len(tokens) > 1:
        return _Query(tokens[1:])
    if first == "TABLE" and not top and len(tokens) > 1 and word(tokens, 1) != "(":
        return _Query(tokens[1:])
    if first == "VALUES" and not top:
        return _Query(tokens)
    return _wrapped(tokens)


def _wrapped(tokens: Tokens) -> _Query:
    near = tokens[0]
    return _Query([*_bracketed(tokens), *made_tokens("AS", near), new_token(TokenType.VAR, PIPED, near)])


def _closed(query: _Query) -> Tokens:
    # `(SELECT …) AS __piped` and nothing else is that SELECT.
    source = query.source
    if not query.where and len(source) > 3 and source[-1].text == PIPED and word(source, 0) == "(":  # noqa: PLR2004
        end = _closing(source, 0)
        if end == len(source) - 3:
            return source[1:end]
    return query.all()


def _operated(query: _Query, tokens: Tokens) -> _Query:
    operator = _OPERATORS.get(word(tokens, 0))
    if operator is None:
        raise _UnknownOperatorError
    return operator(query, tokens)


# -- operators -----------------------------------------------------------------------------------


def _select(query: _Query, tokens: Tokens) -> _Query:
    cut = next(iter(_at_top(tokens, lambda at: word(tokens, at) in _AFTER_ITEMS)), len(tokens))
    return _wrapped(query.select(tokens[1:cut], tokens[cut:]))


def _where(query: _Query, tokens: Tokens) -> _Query:
    return _Query(query.source, [*query.where, tokens[1:]])


def _extend(query: _Query, tokens: Tokens) -> _Query:
    near = tokens[0]
    return _wrapped(query.select([*made_tokens("*", near), *made_tokens(",", near), *tokens[1:]]))


def _set(query: _Query, tokens: Tokens) -> _Query:
    # One after the other: a later assignment sees what an earlier one has set.
    for item in _listed(tokens[1:]):
        if word(item, 1) != "=" or len(item) < 3:  # noqa: PLR2004  column = value
            raise _UnknownOperatorError
        near = item[0]
        value = [*item[2:], *made_tokens("AS", near), near]
        query = _wrapped(
            query.select([*made_tokens("*", near), *made_tokens("REPLACE", near), *_bracketed(value)])
        )
    return query


def _drop(query: _Query, tokens: Tokens) -> _Query:
    near = tokens[0]
    return _wrapped(
        query.select([*made_tokens("*", near), *made_tokens("EXCEPT", near), *_bracketed(tokens[1:])])
    )


def _as(query: _Query, tokens: Tokens) -> _Query:
    if len(tokens) != 2:  # noqa: PLR2004  AS alias
        raise _UnknownOperatorError
    return _Query([*_bracketed(query.all()), *tokens])


def _join(query: _Query, tokens: Tokens) -> _Query:
    # What stood in WHERE before the join must not see its columns.
    query = _wrapped(query.all()) if query.where else query
    return _Query([*query.source, *tokens])


def _queried(query: _Query, tokens: Tokens) -> _Query:
    return _wrapped(query.all(tokens))


def _turned(query: _Query, tokens: Tokens) -> _Query:
    near = tokens[0]
    return _wrapped(
        [
            *made_tokens("SELECT", near),
            *made_tokens("*", near),
            *made_tokens("FROM", near),
            *_bracketed(query.all()),
            *tokens,
        ]
    )


def _combined(query: _Query, tokens: Tokens) -> _Query:
    return _wrapped([*_bracketed(query.all()), *tokens])


def _aggregate(query: _Query, tokens: Tokens) -> _Query:
    cut = next(iter(_at_top(tokens, lambda at: word(tokens, at) in ("GROUP", "GROUP BY"))), len(tokens))
    values = _listed(tokens[1:cut])
    rest = tokens[cut + (2 if word(tokens, cut) == "GROUP" else 1) :]
    keys = [_aliased(item) for item in _listed(rest)]
    if any(len(key) == 1 and key[0].token_type is TokenType.NUMBER for key, _ in keys):
        raise _UnknownOperatorError
    near = tokens[0]
    items = _joined([key + alias for key, alias in keys] + values, near)
    group = [*made_tokens("GROUP BY", near), *_joined([key for key, _ in keys], near)] if keys else []
    return _wrapped(query.select(items, group))


_OPERATORS: dict[str, Callable[[_Query, Tokens], _Query]] = {
    "SELECT": _select,
    "WHERE": _where,
    "EXTEND": _extend,
    "SET": _set,
    "DROP": _drop,
    "AS": _as,
    "AGGREGATE": _aggregate,
    "PIVOT": _turned,
    "UNPIVOT": _turned,
    "TABLESAMPLE": _turned,
    **dict.fromkeys(_JOINS, _join),
    **dict.fromkeys(
        ("ORDER", "ORDER BY", "SORT", "SORT BY", "CLUSTER", "CLUSTER BY", "DISTRIBUTE", "DISTRIBUTE BY",
         "LIMIT", "OFFSET"),
        _queried,
    ),
}  # fmt: skip


# -- tokens --------------------------------------------------------------------------------------


def _set_operations(tokens: Tokens) -> list[int]:
    return _at_top(tokens, lambda at: word(tokens, at) in _SETS and word(tokens, at - 1) != "*")


def _listed(tokens: Tokens) -> list[Tokens]:
    """What commas part."""
    if not tokens:
        return []
    cuts = _at_top(tokens, lambda at: tokens[at].token_type is TokenType.COMMA)
    return [tokens[first + 1 : last] for first, last in zip([-1, *cuts], [*cuts, len(tokens)], strict=True)]


def _joined(items: list[Tokens], near: Token) -> Tokens:
    found: Tokens = []
    for item in items:
        found += [*made_tokens(",", near), *item] if found else item
    return found


def _aliased(item: Tokens) -> tuple[Tokens, Tokens]:
    """A group key apart from its alias, with or without AS."""
    if len(item) > 2 and word(item, len(item) - 2) == "AS":  # noqa: PLR2004  key AS alias
        return item[:-2], item[-2:]
    named = len(item) > 1 and item[-1].token_type in _NAMES and item[-2].token_type in _ENDS
    if not named or word(item, 0) == "INTERVAL":
        return item, []
    return item[:-1], item[-1:]


def _bracketed(tokens: Tokens) -> Tokens:
    near = tokens[0] if tokens else None
    if near is None:
        raise _UnknownOperatorError
    return [new_token(TokenType.L_PAREN, "(", near), *tokens, new_token(TokenType.R_PAREN, ")", near)]
