"""Where the secrets of a statement stand: behind a key, in a list of options, in a column of that name.

In: tokens. Out: places of literals among them. Each function knows one way in which SQL gives a name a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import Token, TokenType

from lineage.sql.tokens import closing_bracket, word

if TYPE_CHECKING:
    from lineage.sql.redaction.rules import RedactionRules

_SECRET_LISTS = frozenset({"CREDENTIAL", "CREDENTIALS", "ENCRYPTION"})
_LISTS = _SECRET_LISTS | {
    "OPTIONS", "TBLPROPERTIES", "DBPROPERTIES", "SERDEPROPERTIES", "PROPERTIES", "FORMAT_OPTIONS",
    "COPY_OPTIONS", "FILE_FORMAT", "WITH",
}  # fmt: skip
# Whatever they get as a literal is a key, what it is to protect, or what helps to guess it.
_FUNCTIONS = frozenset({"AES_ENCRYPT", "AES_DECRYPT", "TRY_AES_DECRYPT"})
_COMPARES = frozenset(
    {"=", "==", "<=>", "<>", "!=", "<", ">", "<=", ">=", "=>", ":=", ":", "IN", "LIKE", "ILIKE", "RLIKE",
     "NOT", "BY", "BETWEEN", "IS", "DISTINCT"}
)  # fmt: skip
_STOPS = frozenset(
    {",", ";", "AND", "OR", "WHEN", "THEN", "ELSE", "END", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING",
     "LIMIT", "JOIN", "ON", "UNION", "SELECT", "SET", "USING", "->>"}
)  # fmt: skip
_LITERALS = frozenset({TokenType.STRING, TokenType.NUMBER, TokenType.HEX_STRING, TokenType.RAW_STRING,
                       TokenType.BIT_STRING, TokenType.BYTE_STRING, TokenType.NATIONAL_STRING})  # fmt: skip
# What a literal behind these words is: the name of an object, as the record has it elsewhere.
_NAMING = frozenset({"LOCATION", "VACUUM", "OPTIMIZE", "JAR", "JARS", "FILE", "FILES", "ARCHIVE",
                     "DIRECTORY", "INPATH", "DETAIL", "HISTORY", "CATALOG"})  # fmt: skip
_TYPES = frozenset({"DECIMAL", "NUMERIC", "DEC", "CHAR", "CHARACTER", "VARCHAR", "INTERVAL"})
_GROUPS = frozenset({"SETS", "GROUPING SETS", "CUBE", "ROLLUP"})
_ORDERS = frozenset({"ASC", "DESC", "NULLS", "FIRST", "LAST"})
_OF_NAMES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_LONGEST_KEY = 200


def setting_places(tokens: list[Token], text: str, rules: RedactionRules) -> Iterator[tuple[int, int]]:
    """The first and the next character of each value of `SET key = value`: Spark takes all up to the end."""
    for at in range(len(tokens)):
        if word(tokens, at) != "SET" or not _begins(tokens, at):
            continue
        end = next((n for n in range(at, len(tokens)) if word(tokens, n) == ";"), len(tokens))
        stop = tokens[end].start if end < len(tokens) else len(text)
        equals = next((n for n in range(at, end) if word(tokens, n) == "="), None)
        if equals is None or word(tokens, at + 1) in ("VAR", "VARIABLE"):
            continue
        key = text[tokens[at].end + 1 : tokens[equals].start].strip(" \t\n`'\"")
        first = tokens[equals].end + 1
        value = text[first:stop].rstrip()
        first += len(value) - len(value.lstrip())
        # In a script it assigns a variable (Spark 4.2): the literals of its value are looked at one by one.
        secret = (rules.literals or rules.is_secret_option(key, value)) if at == 0 else rules.is_secret(key)
        if value.strip() and secret:
            yield first, first + len(value.strip())


def _begins(tokens: list[Token], at: int) -> bool:
    """Whether a statement begins here: of a text, or inside of a script."""
    return at == 0 or word(tokens, at - 1) in (";", "BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "ATOMIC")


def option_places(tokens: list[Token], rules: RedactionRules) -> Iterator[int]:
    """The literals of options whose name or value is secret, as Spark decides it."""
    for at in range(len(tokens)):
        opening = at + 2 if word(tokens, at + 1) == "=" else at + 1
        name = word(tokens, at)
        if name in _LISTS and word(tokens, opening) == "(":
            all_secret = name in _SECRET_LISTS
            for _, key, values in _options(tokens, opening + 1, closing_bracket(tokens, opening)):
                told = " ".join(tokens[place].text for place in values)
                if all_secret or rules.is_secret_option(key, told):
                    yield from values


def _options(tokens: list[Token], at: int, stop: int) -> Iterator[tuple[int, str, list[int]]]:
    """Each option of a list: where its key stands, the key, and the literals of its value."""
    while at < stop:
        place = at
        key, following = _key(tokens, at)
        if not key:
            at += 1
            continue
        at = following + 1 if word(tokens, following) in ("=", "=>", ":") else following
        if word(tokens, at) == "(":
            at += 1  # a list in a list: its own keys follow
            continue
        values = []
        while at < stop and word(tokens, at) != ",":
            if tokens[at].token_type in _LITERALS:
                values.append(at)
                # COPY INTO's lists have no comma: a literal ends the value, unless an operator goes on.
                if word(tokens, at + 1) not in ("||", "+", "-", "*", "/", ")"):
                    at += 1
                    break
            at += 1
        yield place, key, values


def _key(tokens: list[Token], at: int) -> tuple[str, int]:
    """The key that begins here, as `fs.s3a.secret.key` or 'secret', and where it ends; "" for none."""
    if at >= len(tokens):
        return "", at
    if tokens[at].token_type is TokenType.STRING:
        return tokens[at].text[:_LONGEST_KEY], at + 1
    if not _is_word(tokens[at]):
        return "", at
    first, last = at, at
    while (
        last + 1 < len(tokens)
        and tokens[last + 1].start == tokens[last].end + 1
        and _continues(tokens[last + 1])
    ):
        last += 1
    return "".join(token.text for token in tokens[first : last + 1]), last + 1


def _is_word(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER or token.text[:1].isalpha() or token.text[:1] == "_"


def _continues(token: Token) -> bool:
    return token.token_type in (TokenType.DOT, TokenType.DASH, TokenType.NUMBER) or _is_word(token)


def argument_places(tokens: list[Token]) -> Iterator[int]:
    """All literals of calls that encrypt."""
    for at in range(len(tokens)):
        if word(tokens, at) in _FUNCTIONS and word(tokens, at + 1) == "(":
            yield from _literals(tokens, at + 2, closing_bracket(tokens, at + 1))


def _literals(tokens: list[Token], at: int, stop: int) -> Iterator[int]:
    return (place for place in range(at, min(stop, len(tokens))) if tokens[place].token_type in _LITERALS)


def column_places(tokens: list[Token], rules: RedactionRules) -> Iterator[int]:
    """The literals of secret columns: INSERT INTO t (name, password) VALUES …, and … SELECT 'a', 'b'."""
    for at in range(len(tokens)):
        if word(tokens, at) == "VALUES":
            first = at + 1
            rows = list(_rows(tokens, first))
            stop = rows[-1][1] + 1 if rows else first
            opening = stop + 2 if word(tokens, stop) == "AS" else stop + 1
            # VALUES (…) AS t(name, password), or the columns of the INSERT before it.
            secret = _secret_columns(tokens, opening, rules) | _columns_before(tokens, at, rules)
            for begin, end in rows if secret else ():
                yield from _of_columns(tokens, begin + 1, end, secret)
        elif word(tokens, at) == "SELECT":
            secret = _columns_before(tokens, at, rules)
            if secret:
                yield from _of_columns(tokens, at + 1, _end_of_list(tokens, at + 1), secret)


def _rows(tokens: list[Token], at: int) -> Iterator[tuple[int, int]]:
    while word(tokens, at) == "(":
        end = closing_bracket(tokens, at)
        yield at, end
        at = end + 2 if word(tokens, end + 1) == "," else end + 1


def _columns_before(tokens: list[Token], at: int, rules: RedactionRules) -> frozenset[int]:
    """Which columns of `INTO t (a, b)` or `INSERT (a, b)` are secret, where such a list ends at a place."""
    if word(tokens, at - 1) != ")":
        return frozenset()
    opening = next((n for n in range(at - 2, -1, -1) if word(tokens, n) in ("(", ")")), -1)
    if opening < 0 or word(tokens, opening) != "(":
        return frozenset()
    return _secret_columns(tokens, opening, rules)


def _secret_columns(tokens: list[Token], opening: int, rules: RedactionRules) -> frozenset[int]:
    if word(tokens, opening) != "(":
        return frozenset()
    named = (
        (nth, "".join(token.text for token in tokens[first:stop]))
        for nth, (first, stop) in enumerate(_items(tokens, opening + 1, closing_bracket(tokens, opening)))
    )
    return frozenset(nth for nth, name in named if rules.is_secret(name))


def _of_columns(tokens: list[Token], at: int, stop: int, columns: frozenset[int]) -> Iterator[int]:
    for nth, (first, end) in enumerate(_items(tokens, at, stop)):
        if nth in columns:
            yield from _literals(tokens, first, end)


def _items(tokens: list[Token], at: int, stop: int) -> Iterator[tuple[int, int]]:
    """What stands between commas, from a place to another."""
    first = at
    while at < stop:
        if word(tokens, at) in ("(", "["):
            at = closing_bracket(tokens, at)
        elif word(tokens, at) == ",":
            yield first, at
            first = at + 1
        at += 1
    yield first, stop


def _end_of_list(tokens: list[Token], at: int) -> int:
    while at < len(tokens) and word(tokens, at) not in ("FROM", "WHERE", "UNION", ";", ")"):
        at = closing_bracket(tokens, at) + 1 if word(tokens, at) in ("(", "[") else at + 1
    return at


def named_places(tokens: list[Token], rules: RedactionRules) -> Iterator[int]:
    """The literals that a secret name is compared with, set to, or given: anywhere in a statement."""
    at = 0
    while at < len(tokens):
        key, following = _key(tokens, at)
        if not key:
            at += 1
            continue
        is_text = tokens[at].token_type is TokenType.STRING
        # A text that merely speaks of a password is no name.
        if rules.is_secret(key) and not (is_text and set(key) - _OF_NAMES):
            yield from _after(tokens, following, is_text=is_text)
            yield from _before(tokens, at)
        at = following


def _after(tokens: list[Token], at: int, *, is_text: bool) -> Iterator[int]:
    while word(tokens, at) == ")":  # lower(password) = 'x'
        at += 1
    if word(tokens, at) == "," and is_text:
        # Of named_struct('password', 'x') and map('token', 1).
        yield from _literals(tokens, at + 1, at + 2)
    elif word(tokens, at) in _COMPARES:
        yield from _literals(tokens, at + 1, _end_of_value(tokens, at + 1))
    elif not is_text:
        while at < len(tokens) and tokens[at].token_type in _LITERALS:
            yield at
            at += 1


def _before(tokens: list[Token], at: int) -> Iterator[int]:
    """'x' = password, 'x' AS password, concat('x', b) AS password."""
    if word(tokens, at - 1) in _COMPARES or word(tokens, at - 1) == "AS":
        first = at - 2
        depth = int(word(tokens, first) == ")")
        while depth and first > 0:
            first -= 1
            depth += (word(tokens, first) == ")") - (word(tokens, first) == "(")
        yield from _literals(tokens, max(first, 0), at - 1)


def _end_of_value(tokens: list[Token], at: int) -> int:
    """Where an expression ends: before a comma, a bracket that closes more, or the next clause."""
    while at < len(tokens) and word(tokens, at) not in _STOPS and word(tokens, at) not in (")", "]"):
        at = closing_bracket(tokens, at) + 1 if word(tokens, at) in ("(", "[") else at + 1
    return at


def kept_places(tokens: list[Token]) -> frozenset[int]:
    """Literals that are no values: names and places of objects, fields, ordinals, versions, types."""
    kept: set[int] = set()
    for at in range(len(tokens)):
        here, following = word(tokens, at), word(tokens, at + 1)
        opening = at + 2 if following == "=" else at + 1
        if word(tokens, opening) == "(" and here in _LISTS:
            kept |= {place for place, _, _ in _options(tokens, opening + 1, closing_bracket(tokens, opening))}
        elif following == "(":
            kept |= {*_kept_arguments(tokens, here, at + 2, closing_bracket(tokens, at + 1))}
        elif here in _NAMING or (here == "$" and following.isdigit()):
            kept.add(at + 1)
        elif here in ("FROM", "INTO", "[", "IDENTIFIER") and _is_string(tokens, at + 1):
            kept.add(at + 1)  # COPY INTO t FROM '/x'; s['field']; the id of a backup
        elif here.endswith(" BY"):
            kept |= {*_ordinals(tokens, at + 1)}
        elif here == "VERSION":
            kept |= {*_literals(tokens, at + 2, at + 4)}  # VERSION AS OF 3, VERSION => 3
        elif _key(tokens, at)[0].lower() == "path":
            kept |= {*_literals(tokens, opening, opening + 1)}
    return frozenset(kept)


def _kept_arguments(tokens: list[Token], name: str, first: int, stop: int) -> Iterator[int]:
    if name in _TYPES or name == "IDENTIFIER":
        yield from _literals(tokens, first, stop)
    elif name == "NAMED_STRUCT":
        yield from (begin for nth, (begin, _) in enumerate(_items(tokens, first, stop)) if nth % 2 == 0)
    elif name == "STACK":
        yield first
    elif name in _GROUPS:
        depth = 0
        for at in range(first, stop):
            depth += (word(tokens, at) == "(") - (word(tokens, at) == ")")
            if tokens[at].token_type is TokenType.NUMBER and depth <= 1:
                yield at


def _is_string(tokens: list[Token], at: int) -> bool:
    return at < len(tokens) and tokens[at].token_type is TokenType.STRING


def _ordinals(tokens: list[Token], at: int) -> Iterator[int]:
    """Of GROUP BY 1, 2 and ORDER BY 1 DESC."""
    while at < len(tokens) and tokens[at].token_type is TokenType.NUMBER:
        yield at
        at += 1
        while word(tokens, at) in _ORDERS:
            at += 1
        if word(tokens, at) != ",":
            return
        at += 1
