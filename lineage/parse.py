"""The first stage: text → Statement. Pure, cached by text, never raises.

In: SQL text. Out: a `Statement`; what sqlglot cannot read, or reads as something else, has no tree but a
reason. Order: cut into tokens → a reader of our own for commands → mend what sqlglot lacks → sqlglot.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from lineage.collector import collector_held
from lineage.commands import read_command
from lineage.kinds import QUERY_STARTS, SESSION_KINDS, kind_of_tree, kind_of_words
from lineage.mending import literal_identifiers, mend
from lineage.pipes import unpiped
from lineage.protections import without_protections
from lineage.second_try import second_try
from lineage.statement import Change, Command, Statement
from lineage.targets import targets_of_tree
from lineage.tokens import cut, deeper_than, depth, parse_tokens, word

if TYPE_CHECKING:
    from sqlglot import exp

# A tree takes about seventy times its text (TPC-DS: 100 KB a query): the cache holds some 100 MB at
# most of such queries, and a text longer than 32 KiB is not kept.
_CACHE = 1024
_CACHED_LENGTH = 32 * 1024
# sqlglot's compiled parser goes as deep as the text does: on a thread with a stack of 256 KiB, 150 levels end
# the process, and no exception tells of it. What is nested deeper is read from Spark's plan.
_DEEPEST = 100
_DDL_VERBS = frozenset({"CREATE", "REPLACE", "ALTER", "DROP", "RENAME", "SWAP", "UNDROP", "GRANT", "REVOKE"})


def parse(sql: str) -> Statement:
    """What a text is: its kind, its tree, or the reason why it has none.

    >>> parse("SELECT a FROM s.t").references
    (('s', 't'),)
    """
    if len(sql) <= _CACHED_LENGTH:
        return _remembered(sql)
    with collector_held():
        return _parsed(sql)


@lru_cache(maxsize=_CACHE)
def _remembered(sql: str) -> Statement:
    return _parsed(sql)


def _parsed(sql: str) -> Statement:
    try:
        return _understood(sql)
    except Exception as error:  # noqa: BLE001 - whatever a library makes of a text, its statement must run
        return Statement(sql, "UNKNOWN", changes_session=True, reason=f"{type(error).__name__}: {error}")


def _understood(sql: str) -> Statement:  # noqa: PLR0911  one return a kind of text
    tokens, types = cut(sql)
    if tokens is None:
        return Statement(sql, "UNKNOWN", changes_session=True, reason="text that cannot be cut into tokens")
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    while tokens and tokens[0].token_type is TokenType.SEMICOLON:
        tokens.pop(0)
    if not tokens:
        return Statement(sql, "UNKNOWN", reason="no statement")
    if _is_block(tokens) or (TokenType.SEMICOLON in types and _holds_semicolon(tokens)):
        return Statement(sql, "SCRIPT", changes_session=True, reason="SQL script")
    upper = sql.upper()
    tokens = literal_identifiers(tokens, upper)
    command = read_command(tokens, sql)
    if command is not None:
        return _of_command(sql, command, tokens)
    tokens, changes = without_protections(tokens, sql, upper)
    readable, reason = _readable(tokens, types, upper)
    if readable is None:
        return _without_tree(sql, tokens, reason, changes)
    tree, reason = _tree(mend(readable, types, upper), sql)
    if tree is None:
        return _without_tree(sql, tokens, reason, changes)
    return _of_tree(sql, tokens, tree, changes)


def _holds_semicolon(tokens: list[Token]) -> bool:
    return any(token.token_type is TokenType.SEMICOLON for token in tokens)


def _readable(
    tokens: list[Token], types: AbstractSet[TokenType], upper: str
) -> tuple[list[Token] | None, str]:
    """The tokens as sqlglot may see them: without pipe syntax, not nested too deep."""
    if deeper_than(_DEEPEST, tokens, upper):
        return None, "nested too deep to parse"
    if TokenType.PIPE_GT not in types:
        return tokens, ""
    nested = unpiped(tokens)
    if nested is None:
        return None, "pipe syntax |>"
    return (None, "nested too deep to parse") if depth(nested) > _DEEPEST else (nested, "")


def _is_block(tokens: list[Token]) -> bool:
    if word(tokens, 0) == "BEGIN":
        return True
    return word(tokens, 1) == ":" and word(tokens, 2) == "BEGIN"


def _tree(tokens: list[Token], sql: str) -> tuple[exp.Expr | None, str]:
    try:
        return parse_tokens(tokens, sql), "several statements"
    except RecursionError:
        return None, "nested too deep to parse"
    except SqlglotError as error:
        reason = _message(error)
    mended = second_try(tokens)
    if mended is not None:
        try:
            return parse_tokens(mended, sql), "several statements"
        except (SqlglotError, RecursionError):
            pass
    return None, reason


def _message(error: SqlglotError) -> str:
    details = getattr(error, "errors", None)
    if details:
        first = details[0]
        description = str(first.get("description")).partition(" <")[0].partition(" but got")[0]
        return f"not parsed: {description} at {first.get('highlight')!r}"
    return f"not parsed: {str(error).splitlines()[0][:200]}"


def _of_command(sql: str, command: Command, tokens: list[Token]) -> Statement:
    kind = command.kind
    if _calls_identifier(tokens, (command.target, command.source, command.new_name)):
        return _without_tree(sql, tokens, "IDENTIFIER() of an expression")
    return Statement(
        sql,
        kind,
        is_ddl=command.domain is not None and kind.split("_")[0] in _DDL_VERBS,
        changes_session=kind in SESSION_KINDS,
        command=command,
        reason=None,
    )


def _calls_identifier(tokens: list[Token], names: Iterable[tuple[str, ...]]) -> bool:
    """Whether what was read as a name is IDENTIFIER(…) of what only Spark can evaluate."""
    if not any(name and name[-1].upper() == "IDENTIFIER" for name in names):
        return False
    return any(word(tokens, at) == "IDENTIFIER" and word(tokens, at + 1) == "(" for at in range(len(tokens)))


def _without_tree(sql: str, tokens: list[Token], reason: str, changes: tuple[Change, ...] = ()) -> Statement:
    kind = kind_of_words(tokens)
    is_query = kind == "SELECT" and word(tokens, 0) in QUERY_STARTS
    return Statement(
        sql,
        kind,
        is_query=is_query,
        is_ddl=kind.split("_")[0] in _DDL_VERBS,
        changes_session=kind == "UNKNOWN" or kind in SESSION_KINDS or kind.endswith("_VIEW"),
        reason=reason,
        changes=changes,
    )


def _of_tree(sql: str, tokens: list[Token], tree: exp.Expr, changes: tuple[Change, ...]) -> Statement:
    kind, is_query, temporary = kind_of_tree(tree)
    if kind == "UNKNOWN":
        return _without_tree(sql, tokens, f"{type(tree).__name__.upper()} is not understood", changes)
    if not is_query and _calls_identifier(tokens, (parts for parts, _ in targets_of_tree(tree))):
        return _without_tree(sql, tokens, "IDENTIFIER() of an expression", changes)
    return Statement(
        sql,
        kind,
        is_query=is_query,
        is_ddl=kind.split("_")[0] in _DDL_VERBS,
        changes_session=temporary or kind in SESSION_KINDS,
        tree=tree,
        temporary=temporary,
        changes=changes,
    )
