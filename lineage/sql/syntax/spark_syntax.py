"""Tokens that sqlglot's Spark parser lacks or takes for something else, turned into ones it knows.

In: the tokens of a statement. Out: tokens of the same meaning. Each rule is one function; a text that
needs none passes through untouched.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet

from sqlglot.tokenizer_core import Token, TokenType

from lineage.errors import BadNameError
from lineage.names import split_name
from lineage.sql.cursor import Cursor
from lineage.sql.syntax.dml_syntax import DML_RULES, QUERY_WORDS
from lineage.sql.tokens import closing_bracket, made_tokens, new_token, word

_VERSION = re.compile(r"v(\d+)$", re.IGNORECASE)
_BEFORE_TABLE = frozenset(
    {"", "(", "UNION", "ALL", "DISTINCT", "EXCEPT", "MINUS", "INTERSECT", "AS", "NAME", "SET"}
)


def rewrite_for_sqlglot(tokens: list[Token], types: AbstractSet[TokenType], upper: str) -> list[Token]:
    """All rules, in turn; `upper` is the text in upper case, to skip rules that cannot apply."""
    first = word(tokens, 0)
    if first == "REPLACE":
        tokens = _replace_table(tokens)
    if "DIRECTORY" in upper:
        tokens = _directories(tokens)
    if first == "COPY":
        tokens = _unload_of_qualified(_stage_columns(tokens))
    if TokenType.TABLE in types:
        tokens = _table_arguments(_table_statements(tokens))
    if TokenType.PARAMETER in types:
        tokens = _versions(tokens)
    if not types.isdisjoint(_NILADIC):
        tokens = _niladic(tokens)
    for marker, rule in _BY_WORD:
        if marker in upper:
            tokens = rule(tokens)
    return _lossy(tokens) if any(name in upper for name in _MARKERS) else tokens


_NILADIC = frozenset(
    {TokenType.CURRENT_USER, TokenType.SESSION_USER, TokenType.CURRENT_DATE, TokenType.CURRENT_TIMESTAMP,
     TokenType.CURRENT_TIME, TokenType.LOCALTIMESTAMP}
)  # fmt: skip


def _niladic(tokens: list[Token]) -> list[Token]:
    # Without parentheses current_user is a column first, and a function where there is none of that name.
    return [
        new_token(TokenType.VAR, token.text, token)
        if token.token_type in _NILADIC and word(tokens, at + 1) != "("
        else token
        for at, token in enumerate(tokens)
    ]


def _all_columns(tokens: list[Token]) -> list[Token]:
    # SELECT all, b: a column named all, not SELECT ALL.
    return [
        new_token(TokenType.IDENTIFIER, token.text, token)
        if token.token_type is TokenType.ALL
        and word(tokens, at - 1) == "SELECT"
        and word(tokens, at + 1) in (",", "FROM")
        else token
        for at, token in enumerate(tokens)
    ]


def _alias_from(tokens: list[Token]) -> list[Token]:
    # count(*) FROM from t: FROM is no reserved word, so the first one is an alias.
    return [
        new_token(TokenType.IDENTIFIER, token.text, token)
        if token.token_type is TokenType.FROM and word(tokens, at + 1) == "FROM"
        else token
        for at, token in enumerate(tokens)
    ]


def _bare_stars(tokens: list[Token]) -> list[Token]:
    # SELECT (*) is SELECT *.
    gone: set[int] = set()
    for at, token in enumerate(tokens):
        if token.token_type is not TokenType.STAR:
            continue
        around = word(tokens, at - 1), word(tokens, at + 1)
        if around == ("(", ")") and word(tokens, at - 2) in ("SELECT", ","):
            gone |= {at - 1, at + 1}
    return [token for at, token in enumerate(tokens) if at not in gone]


def _replace_table(tokens: list[Token]) -> list[Token]:
    # REPLACE TABLE t … means CREATE OR REPLACE TABLE t … on a table that exists.
    near = tokens[0]
    return [new_token(TokenType.CREATE, "CREATE", near), new_token(TokenType.OR, "OR", near), *tokens]


def _schema_evolution(tokens: list[Token]) -> list[Token]:
    at = schema_evolution_at(tokens)
    return tokens if at is None else tokens[:at] + tokens[at + 3 :]


def schema_evolution_at(tokens: list[Token]) -> int | None:
    """Where a MERGE or an INSERT says WITH SCHEMA EVOLUTION."""
    for at in range(1, len(tokens) - 2):
        words = [word(tokens, at + n) for n in (-1, 0, 1, 2)]
        if words[0] in ("MERGE", "INSERT") and words[1:] == ["WITH", "SCHEMA", "EVOLUTION"]:
            return at
    return None


def _directories(tokens: list[Token]) -> list[Token]:
    # INSERT OVERWRITE [LOCAL] DIRECTORY 'p' USING f OPTIONS (…) SELECT …: format and options say
    # nothing about lineage, but OPTIONS (path '…') is where the path may stand.
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        found.append(tokens[at])
        at += 1
        if word(tokens, at - 1) != "DIRECTORY" or word(tokens, at - 2) not in ("OVERWRITE", "LOCAL"):
            continue
        path = tokens[at] if at < len(tokens) and tokens[at].token_type is TokenType.STRING else None
        end = at + (path is not None)
        if word(tokens, end) != "USING":
            continue
        end += 2
        if word(tokens, end) == "OPTIONS":
            close = closing_bracket(tokens, end + 1)
            path = path or _option_path(tokens[end + 1 : close])
            end = close + 1
        if path is not None:
            found.append(path)
            at = end
    return found


def _stage_columns(tokens: list[Token]) -> list[Token]:
    # `$2`, the second column of a staged file, becomes a column of that name.
    found: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.NUMBER and found and found[-1].text == "$":
            found[-1] = new_token(TokenType.VAR, f"${token.text}", token)
        else:
            found.append(token)
    return found


def _unload_of_qualified(tokens: list[Token]) -> list[Token]:
    # COPY INTO '/p' FROM s.t: sqlglot reads a name of one part there, or a query.
    at = next((n for n in range(2, min(5, len(tokens))) if word(tokens, n) == "FROM"), 0)
    end = at + 2
    while word(tokens, end) == "." and end + 1 < len(tokens):
        end += 2
    if at == 0 or tokens[2].token_type is not TokenType.STRING or end == at + 2:
        return tokens
    near = tokens[at]
    query = [
        (TokenType.L_PAREN, "("),
        (TokenType.SELECT, "SELECT"),
        (TokenType.STAR, "*"),
        (TokenType.FROM, "FROM"),
    ]
    opened = [new_token(kind, text, near) for kind, text in query]
    closed = new_token(TokenType.R_PAREN, ")", tokens[end - 1])
    return [*tokens[: at + 1], *opened, *tokens[at + 1 : end], closed, *tokens[end:]]


def _option_path(tokens: list[Token]) -> Token | None:
    for at, token in enumerate(tokens[:-1]):
        if token.text.lower() == "path":
            for later in tokens[at + 1 : at + 3]:
                if later.token_type is TokenType.STRING:
                    return later
    return None


def _table_statements(tokens: list[Token]) -> list[Token]:
    # `TABLE t` is a query of its own; sqlglot reads it as a column `TABLE` with the alias `t`.
    found: list[Token] = []
    for at, token in enumerate(tokens):
        if token.token_type is TokenType.TABLE and _is_table_query(tokens, at):
            found += [
                new_token(TokenType.SELECT, "SELECT", token),
                new_token(TokenType.STAR, "*", token),
                new_token(TokenType.FROM, "FROM", token),
            ]
        else:
            found.append(token)
    return found


def _is_table_query(tokens: list[Token], at: int) -> bool:
    if word(tokens, at - 1) not in _BEFORE_TABLE:
        return False
    if word(tokens, at + 1) in ("", "(") and not _quoted(tokens, at + 1):
        return False
    # f(TABLE t) is an argument, not a query.
    before = tokens[at - 2] if at >= 2 and word(tokens, at - 1) == "(" else None  # noqa: PLR2004
    if before is None:
        return True
    return before.token_type not in (TokenType.VAR, TokenType.IDENTIFIER)


def _quoted(tokens: list[Token], at: int) -> bool:
    return at < len(tokens) and tokens[at].token_type is TokenType.IDENTIFIER


def _versions(tokens: list[Token]) -> list[Token]:
    # Delta's `t@v3` and `t@20240101000000000`; sqlglot takes `@v3` for an alias.
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        version = _version_at(tokens, at) if token.token_type is TokenType.PARAMETER else None
        if version is None:
            found.append(token)
            at += 1
            continue
        kind, literal = version
        keyword = TokenType.VAR if kind == "VERSION" else TokenType.TIMESTAMPTZ
        found += [new_token(keyword, kind, token), new_token(TokenType.ALIAS, "AS", token)]
        found += [new_token(TokenType.VAR, "OF", token), literal]
        at += 2
    return found


def _version_at(tokens: list[Token], at: int) -> tuple[str, Token] | None:
    if not 0 < at < len(tokens) - 1:
        return None
    before, after = tokens[at - 1], tokens[at + 1]
    if before.end + 1 != tokens[at].start or tokens[at].end + 1 != after.start:
        return None
    match = _VERSION.match(after.text)
    if match is not None:
        return "VERSION", new_token(TokenType.NUMBER, match.group(1), after)
    if after.token_type is TokenType.NUMBER and after.text.isdigit():
        return "TIMESTAMP", new_token(TokenType.STRING, after.text, after)
    return None


def literal_identifiers(tokens: list[Token], upper: str) -> list[Token]:
    """IDENTIFIER('a.b') is the name a.b wherever a name may stand; literals joined by || or concat are one.

    For every kind of statement, so it comes first; `upper` is the text in upper case.
    """
    if "IDENTIFIER" not in upper:
        return tokens
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        literal, end = _identifier_literal(tokens, at)
        if literal is None:
            found.append(tokens[at])
            at += 1
            continue
        try:
            parts = split_name(literal)
        except BadNameError:
            return tokens
        for n, part in enumerate(parts):
            if n:
                found.append(new_token(TokenType.DOT, ".", tokens[at]))
            found.append(new_token(TokenType.IDENTIFIER, part, tokens[at], tokens[end - 1]))
        at = end
    return found


def _identifier_literal(tokens: list[Token], at: int) -> tuple[str | None, int]:
    if word(tokens, at) != "IDENTIFIER" or word(tokens, at + 1) != "(":
        return None, at
    if at and tokens[at - 1].token_type in (TokenType.COLON, TokenType.DOT, TokenType.PLACEHOLDER):
        return None, at
    inside = Cursor(tokens, "", at + 2)
    literal = inside.literal()
    return (literal, inside.at) if literal is not None and inside.take(")") else (None, at)


def _recursion_levels(tokens: list[Token]) -> list[Token]:
    # WITH RECURSIVE r MAX RECURSION LEVEL 10 AS (…): a bound, no lineage (Spark 4.1).
    for at in range(len(tokens) - 3):
        if [word(tokens, at + n) for n in range(3)] == ["MAX", "RECURSION", "LEVEL"]:
            return _recursion_levels(tokens[:at] + tokens[at + 4 :])
    return tokens


_KEYS = frozenset(
    {"PARTITION", "PARTITION BY", "WITH", "ORDER", "ORDER BY", "SORT", "SORT BY", "DISTRIBUTE",
     "DISTRIBUTE BY"}
)  # fmt: skip


def _table_arguments(tokens: list[Token]) -> list[Token]:
    # f(TABLE(t) PARTITION BY a ORDER BY b) as f(TABLE(SELECT * FROM t)): the whole table is an argument.
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        if not _is_table_argument(tokens, at):
            found.append(tokens[at])
            at += 1
            continue
        close = closing_bracket(tokens, at + 1)
        found += tokens[at : at + 2]
        if word(tokens, at + 2) not in (*QUERY_WORDS, "("):
            found += made_tokens("SELECT * FROM", tokens[at])
        found += tokens[at + 2 : close + 1]
        at = close + 1
        if word(tokens, at) in _KEYS:
            at = _end_of_argument(tokens, at)
    return found


def _is_table_argument(tokens: list[Token], at: int) -> bool:
    is_called = tokens[at].token_type is TokenType.TABLE and word(tokens, at + 1) == "("
    return is_called and word(tokens, at - 1) in ("(", ",", "=>")


def _end_of_argument(tokens: list[Token], at: int) -> int:
    depth = 0
    while at < len(tokens):
        text = word(tokens, at)
        if depth == 0 and text in (")", ","):
            return at
        depth += (text == "(") - (text == ")")
        at += 1
    return at


def _collations(tokens: list[Token]) -> list[Token]:
    # CREATE … DEFAULT COLLATION x (Spark 4.0) says how text compares, not where it comes from.
    for at in range(len(tokens) - 2):
        if word(tokens, at) == "DEFAULT" and word(tokens, at + 1) == "COLLATION":
            return tokens[:at] + tokens[at + 3 :]
    return tokens


def _arguments(tokens: list[Token], opening: int) -> list[int]:
    """Where the arguments of a call begin."""
    level, starts = 0, [opening + 1]
    for at in range(opening, closing_bracket(tokens, opening)):
        text = word(tokens, at)
        level += (text in _BRACKETS[0]) - (text in _BRACKETS[1])
        if level == 1 and text == ",":
            starts.append(at + 1)
    return starts


_BRACKETS = (frozenset("(["), frozenset(")]"))
# Where the unit stands among the arguments.
_UNIT_AT = {"DATE_TRUNC": 0, "TRUNC": 1}
_LOSSY = frozenset({*_UNIT_AT, "PERCENTILE", "TIME_TRUNC", "TIME_DIFF", "SUBSTR"})
_MARKERS = ("SUBSTR", "PERCENTILE", "TRUNC", "TIME_DIFF")
_PAIR = 2  # percentile(a, 0.5) loses nothing
_BEFORE_NAME = frozenset(
    {"INTO", "TABLE", "VIEW", "WITH", "RECURSIVE", "AS", "FROM", "JOIN", "UPDATE", "EXISTS", "USING", "."}
)


def _lossy(tokens: list[Token]) -> list[Token]:
    # Calls of which sqlglot forgets an argument, or how they are called: it makes one function of substr and
    # substring, of which Spark names an output. With a space after it the name is one that it does not know.
    found = list(tokens)
    for at, token in enumerate(tokens):
        if word(tokens, at) in _LOSSY and _is_call(tokens, at) and _loses(tokens, at):
            found[at] = new_token(TokenType.VAR, f"{token.text} ", token)
    return found


def _is_call(tokens: list[Token], at: int) -> bool:
    """Whether a function is called, not a table or a CTE named."""
    if word(tokens, at + 1) != "(" or word(tokens, at - 1) in _BEFORE_NAME:
        return False
    end = closing_bracket(tokens, at + 1) + 1
    return (word(tokens, end), word(tokens, end + 1)) != ("AS", "(")


def _loses(tokens: list[Token], at: int) -> bool:
    name = word(tokens, at)
    if name == "SUBSTR":
        return not _has_from(tokens, at + 1)
    arguments = _arguments(tokens, at + 1)
    if name == "PERCENTILE":
        return len(arguments) > _PAIR  # the frequency
    unit = _UNIT_AT.get(name)
    if unit is None or unit >= len(arguments):
        return unit is None
    return tokens[arguments[unit]].token_type is not TokenType.STRING  # a column, or an expression


def _has_from(tokens: list[Token], opening: int) -> bool:
    # substr(a FROM 2) is grammar of its own.
    level = 0
    for at in range(opening, closing_bracket(tokens, opening)):
        text = word(tokens, at)
        level += (text == "(") - (text == ")")
        if level == 1 and text == "FROM":
            return True
    return False


_BY_WORD: tuple[tuple[str, Callable[[list[Token]], list[Token]]], ...] = (
    ("EVOLUTION", _schema_evolution),
    ("RECURSION", _recursion_levels),
    ("COLLATION", _collations),
    ("SELECT ALL", _all_columns),
    ("FROM FROM", _alias_from),
    ("(*)", _bare_stars),
    *DML_RULES,
)
