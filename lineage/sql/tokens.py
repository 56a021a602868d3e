"""Tokens of SQL text: sqlglot's, with the few helpers that the readers of statements share.

In: text. Out: tokens, names read from them, statements split at semicolons.
"""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from lineage.sqlglot_log import quiet

if TYPE_CHECKING:
    from sqlglot import exp


SCHEMA_EVOLUTION = "schema_evolution"
"""`tree.meta[SCHEMA_EVOLUTION]`: the statement says WITH SCHEMA EVOLUTION, which sqlglot's tree cannot."""
CALLED = "called"
"""Where a function's node keeps the name that the text calls it by: `node.meta[CALLED]`."""


@lru_cache(maxsize=1)
def spark() -> Spark:
    """The stock Spark dialect."""
    dialect = Spark()
    # Several names share one node (substr, substring); Spark names an output after the one in the text.
    dialect.ORIGINAL_NAME_META_KEY = CALLED
    return dialect


_kind = attrgetter("token_type")


def tokenize(text: str) -> list[Token] | None:
    """The tokens of a text, None where it cannot be cut into any (an open quote)."""
    return tokenize_with_types(text)[0]


def words_of(text: str) -> dict[str, None]:
    """The words of an expression in lower case, in order; not those of its strings.

    What stands in double quotes counts: Spark takes it for a name under ANSI settings.

    >>> list(words_of("Upper(`a` || 'b')"))
    ['upper', '(', 'a', '||', ')']
    """
    named = (one for one in tokenize(text) or () if not _is_string(one) or text[one.start] == '"')
    return dict.fromkeys(token.text.lower() for token in named)


def _is_string(token: Token) -> bool:
    return token.token_type is TokenType.STRING


def tokenize_with_types(text: str) -> tuple[list[Token] | None, set[TokenType]]:
    """The tokens of a text, None where it cannot be cut into any, and the types that occur among them."""
    try:
        tokens = spark().tokenize(text)
        types = set(map(_kind, tokens))
        if not _SWALLOWING.isdisjoint(types):
            tokens = _whole(tokens, text)
            types = set(map(_kind, tokens))
        if TokenType.STRING in types and ("''" in text or '""' in text):
            tokens = _without_doubled_quotes(tokens, text)
        if TokenType.RAW_STRING in types:
            tokens = _without_raw_strings(tokens)
            types = set(map(_kind, tokens))
    except SqlglotError:
        return None, set()
    return tokens, types


# sqlglot takes all that follows these words, at the start of a statement, for one string.
_SWALLOWING = frozenset(
    {TokenType.COMMAND, TokenType.EXECUTE, TokenType.SHOW, TokenType.FETCH, TokenType.RENAME}
)


def _whole(tokens: list[Token], text: str) -> list[Token]:
    # Cut once more with such words masked by plain ones of the same length.
    masked: dict[int, Token] = {}
    while True:
        found = [t for t in tokens if t.token_type in _SWALLOWING and t.start not in masked]
        if not found:
            return [masked.get(token.start, token) for token in tokens]
        for token in found:
            masked[token.start] = token
            size = token.end + 1 - token.start
            text = text[: token.start] + "x" * size + text[token.end + 1 :]
        tokens = list(spark().tokenize(text))


def _without_doubled_quotes(tokens: list[Token], text: str) -> list[Token]:
    # 'it''s' is one string, it's, in Spark 4.0 and later (SparkParserUtils.unescapeSQLString; unless
    # spark.sql.legacy.consecutiveStringLiterals.enabled is set). sqlglot (30.30) cuts it into two that touch.
    # A raw string has no such quotes, and literals with other quotes or a blank between stay two.
    found: list[Token] = []
    for token in tokens:
        last = found[-1] if found else token
        if (
            token.token_type is TokenType.STRING is last.token_type
            and last.end + 1 == token.start
            and text[last.start] == text[token.start]
        ):
            found[-1] = new_token(TokenType.STRING, last.text + text[token.start] + token.text, last, token)
        else:
            found.append(token)
    return found


def _without_raw_strings(tokens: list[Token]) -> list[Token]:
    # r'a' is a string like any other to Spark's parser: no reader may take its text for a word.
    return [
        new_token(TokenType.STRING, token.text, token) if token.token_type is TokenType.RAW_STRING else token
        for token in tokens
    ]


_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_PREFIX = frozenset({TokenType.NOT, TokenType.DASH, TokenType.TILDE})
_NESTING = ("(", "[", "{", "CASE", "NOT", "!", "-", "~")


def deeper_than(levels: int, tokens: list[Token], upper: str) -> bool:
    """Whether brackets, CASE and prefix operators are nested deeper than that; `upper` is the text.

    A text that holds no more of them than levels is no deeper: most need no look at their tokens.

    >>> deeper_than(1, tokenize("((a))"), "((A))")
    True
    """
    return sum(map(upper.count, _NESTING)) > levels and bracket_depth(tokens) > levels


def bracket_depth(tokens: list[Token]) -> int:
    """How deep brackets, CASE and prefix operators are nested in each other, at most.

    >>> bracket_depth(tokenize("SELECT ((a)), NOT NOT b, CASE WHEN c THEN (d) END"))
    2
    """
    level = deepest = prefixes = 0
    for token in tokens:
        kind = token.token_type
        prefixes = prefixes + 1 if kind in _PREFIX else 0
        level += (kind in _OPENING) - (kind in _CLOSING)
        deepest = max(deepest, level + prefixes)
    return deepest


def parse_tokens(tokens: list[Token], text: str) -> exp.Expr | None:
    """The tree of one statement.

    Raises:
        SqlglotError: the parser does not know the syntax.
        RecursionError: the statement is nested too deep.
    """
    with quiet():
        trees = [tree for tree in spark().parser().parse(tokens, text) if tree is not None]
    return trees[0] if len(trees) == 1 else None


def word(tokens: list[Token], at: int) -> str:
    """The upper-case text of a token, '' past the end or where it is quoted."""
    if not 0 <= at < len(tokens):
        return ""
    token = tokens[at]
    # In back-ticks a word is a name, and in quotes a text: neither is ever a keyword.
    return "" if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING) else token.text.upper()


def new_token(kind: TokenType, text: str, first: Token, last: Token | None = None) -> Token:
    """A token in the place of one token, or of those from `first` to `last`."""
    return Token(kind, text, first.line, first.col, first.start, (last or first).end, [])


def made_tokens(text: str, near: Token) -> list[Token]:
    """Words as sqlglot's own tokenizer cuts them, at the place of another token."""
    return [new_token(token.token_type, token.text, near) for token in spark().tokenize(text)]


def read_name(tokens: list[Token], at: int) -> tuple[tuple[str, ...], int]:
    """A dotted name from `at` on, and where it ends; () where there is none."""
    parts: list[str] = []
    while at < len(tokens) and _is_name(tokens[at]):
        # Spark 3.4+ and sqlglot cut `a.1b` differently; numbers inside names stay text.
        parts.append(tokens[at].text)
        at += 1
        if at < len(tokens) and tokens[at].token_type is TokenType.DOT:
            at += 1
            continue
        break
    return tuple(parts), at


def _is_name(token: Token) -> bool:
    kind = token.token_type
    if kind in (TokenType.IDENTIFIER, TokenType.VAR):
        return True
    if kind in (TokenType.STRING, TokenType.NUMBER):
        return False
    # Most keywords are no reserved words in Spark and may be names: any word counts.
    return token.text[:1].isalpha() or token.text[:1] == "_"


def closing_bracket(tokens: list[Token], at: int) -> int:
    """The place of the bracket that closes the one at a place; the last token where none does."""
    depth = 0
    for place in range(at, len(tokens)):
        here = word(tokens, place)
        depth += (here in OPENING) - (here in CLOSING)
        if depth == 0:
            return place
    return len(tokens) - 1


OPENING = frozenset({"(", "["})
CLOSING = frozenset({")", "]"})
"""The brackets of expressions, as `word` gives them."""


def without_semicolons(tokens: list[Token]) -> list[Token]:
    """The same list, without the semicolons around the statement."""
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    while tokens and tokens[0].token_type is TokenType.SEMICOLON:
        tokens.pop(0)
    return tokens


def split_statements(text: str) -> list[str]:
    """The statements of a text, cut at semicolons; a BEGIN … END block is one statement.

    >>> split_statements("SELECT ';' ; SELECT 2 -- x;")
    ["SELECT ';'", 'SELECT 2 -- x;']
    """
    tokens = tokenize(text)
    if tokens is None:
        return [text]
    pieces: list[str] = []
    start: int | None = None
    begin = block = 0
    for at, token in enumerate(tokens):
        if start is None:
            start = at
            block = _block_end(tokens, at) if _opens_block(tokens, at) else at
        if at < block:
            continue
        if token.token_type is TokenType.SEMICOLON:
            if at > start:
                pieces.append(text[begin : token.start].strip())
            begin, start = token.end + 1, None
    if start is not None:
        pieces.append(text[begin:].strip())
    return pieces


def _block_end(tokens: list[Token], at: int) -> int:
    """The place of the END that closes the block; past the last token where none does."""
    depth = 0
    for place in range(at, len(tokens)):
        here, following = word(tokens, place), word(tokens, place + 1)
        if here in ("BEGIN", "CASE") and word(tokens, place - 1) != "END":
            depth += 1
        elif here == "END" and following not in ("IF", "WHILE", "LOOP", "REPEAT", "FOR"):
            # A column may be called end: the last END stands before a semicolon, or a label and one.
            behind = (place + 1, place + 2)
            depth -= depth > 1 or any(n >= len(tokens) or word(tokens, n) == ";" for n in behind)
        if depth == 0 and here == "END":
            return place
    return len(tokens)


def _opens_block(tokens: list[Token], at: int) -> bool:
    if word(tokens, at) == "BEGIN":
        # BEGIN alone and BEGIN TRANSACTION are other dialects' statements, and open no script.
        return word(tokens, at + 1) not in ("TRANSACTION", ";", "")
    return word(tokens, at + 1) == ":" and word(tokens, at + 2) == "BEGIN"
