"""Tokens of a text that did not parse, in a form that sqlglot may know.

In: the tokens of a statement that sqlglot has refused. Out: tokens of the same meaning, or None where none
of the rules applies. What stands here has another meaning in text that does parse, so it is tried only then.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import Token, TokenType

from lineage.sql.tokens import CLOSING, OPENING, closing_bracket, made_tokens, new_token, word


def rewrite_for_retry(tokens: list[Token]) -> list[Token] | None:
    """All rules in turn; None where nothing changed."""
    rewritten = tokens
    for rule in _RULES:
        rewritten = rule(rewritten)
    return None if rewritten is tokens else rewritten


_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)


def _variant_paths(tokens: list[Token]) -> list[Token]:
    # `a:b.c[0]` as `a.b.c[0]`: a path into a VARIANT or JSON column. `:` also stands in types of structs.
    found: list[Token] = []
    for at, token in enumerate(tokens):
        if (
            token.token_type is TokenType.COLON
            and 0 < at < len(tokens) - 1
            and tokens[at - 1].token_type in (*_NAMES, TokenType.R_BRACKET)
            and tokens[at + 1].token_type in (*_NAMES, TokenType.L_BRACKET)
        ):
            if tokens[at + 1].token_type is not TokenType.L_BRACKET:
                found.append(new_token(TokenType.DOT, ".", token))
        else:
            found.append(token)
    return found if found != tokens else tokens


def _unsigned_shifts(tokens: list[Token]) -> list[Token]:
    # `a >>> 2` as `a >> 2`: the same sources. In a type, as array<array<array<int>>>, no value follows.
    return _without(tokens, [at for at in range(1, len(tokens) - 3) if _is_shift(tokens, at)])


def _is_shift(tokens: list[Token], at: int) -> bool:
    return (
        all(tokens[at + n].token_type is TokenType.GT for n in range(3))
        and tokens[at + 2].end == tokens[at].start + 2
        and tokens[at + 3].token_type in (*_NAMES, TokenType.NUMBER, TokenType.L_PAREN)
    )


def _any_places(tokens: list[Token]) -> list[Token]:
    # GEOGRAPHY(ANY) and GEOMETRY(ANY): a type, of whatever reference system.
    inside = [TokenType.L_PAREN, TokenType.ANY, TokenType.R_PAREN]
    places = [
        at
        for at in range(len(tokens) - 3)
        if word(tokens, at) in ("GEOGRAPHY", "GEOMETRY")
        and [token.token_type for token in tokens[at + 1 : at + 4]] == inside
    ]
    return _without(tokens, [at + n for at in places for n in (1, 2, 3)])


def _without(tokens: list[Token], places: list[int]) -> list[Token]:
    """One pass, however many there are."""
    if not places:
        return tokens
    gone = set(places)
    return [token for at, token in enumerate(tokens) if at not in gone]


def _nearest_joins(tokens: list[Token]) -> list[Token]:
    # JOIN t APPROX NEAREST 2 BY DISTANCE e (Spark 4.2) picks rows by e, as ON e would.
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        end = _nearest(tokens, at)
        found.append(tokens[at] if end is None else new_token(TokenType.ON, "ON", tokens[at]))
        at = at + 1 if end is None else end
    return tokens if len(found) == len(tokens) else found


def _nearest(tokens: list[Token], at: int) -> int | None:
    """Where the expression of APPROX | EXACT NEAREST [n] BY SIMILARITY | DISTANCE begins."""
    if word(tokens, at) not in ("APPROX", "EXACT") or word(tokens, at + 1) != "NEAREST":
        return None
    by = at + 2 + (at + 2 < len(tokens) and tokens[at + 2].token_type is TokenType.NUMBER)
    is_join = word(tokens, by) == "BY" and word(tokens, by + 1) in ("SIMILARITY", "DISTANCE")
    return by + 2 if is_join else None


def _map_and_reduce(tokens: list[Token]) -> list[Token]:
    # MAP a, b USING 'script' … is SELECT TRANSFORM(a, b) USING 'script' … (Hive's two other words for it).
    for at in range(len(tokens)):
        if word(tokens, at) not in ("MAP", "REDUCE") or word(tokens, at + 1) == "(":
            continue
        end = next((n for n in range(at + 1, len(tokens)) if word(tokens, n) == "USING"), None)
        if end is None or end + 1 >= len(tokens) or tokens[end + 1].token_type is not TokenType.STRING:
            continue
        near = tokens[at]
        head = [new_token(TokenType.SELECT, "SELECT", near), new_token(TokenType.VAR, "TRANSFORM", near)]
        inside = [
            new_token(TokenType.L_PAREN, "(", near),
            *tokens[at + 1 : end],
            new_token(TokenType.R_PAREN, ")", near),
        ]
        return [*tokens[:at], *head, *inside, *tokens[end:]]
    return tokens


def _samples(tokens: list[Token]) -> list[Token]:
    # (SELECT …) TABLESAMPLE (5 ROWS) q: sqlglot takes no alias behind it. Which rows come is left to chance.
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        if word(tokens, at) == "TABLESAMPLE" and word(tokens, at + 1) == "(":
            at = closing_bracket(tokens, at + 1) + 1
            if word(tokens, at) == "REPEATABLE":
                at = closing_bracket(tokens, at + 1) + 1
            continue
        found.append(tokens[at])
        at += 1
    return tokens if len(found) == len(tokens) else found


def _several_selects(tokens: list[Token]) -> list[Token]:
    # FROM t SELECT a SELECT b is FROM t SELECT a UNION ALL FROM t SELECT b.
    depth, starts = 0, list[int]()
    for at in range(len(tokens)):
        here = word(tokens, at)
        depth += (here in OPENING) - (here in CLOSING)
        if depth == 0 and here == "SELECT":
            starts.append(at)
    if word(tokens, 0) != "FROM" or len(starts) < 2:  # noqa: PLR2004  one SELECT is any query
        return tokens
    bodies = [tokens[first:last] for first, last in zip(starts, [*starts[1:], len(tokens)], strict=True)]
    found: list[Token] = []
    for body in bodies:
        found += [*(made_tokens("UNION ALL", body[0]) if found else ()), *tokens[: starts[0]], *body]
    return found


_RULES: tuple[Callable[[list[Token]], list[Token]], ...] = (
    _variant_paths,
    _unsigned_shifts,
    _nearest_joins,
    _any_places,
    _map_and_reduce,
    _samples,
    _several_selects,
)
