"""The first stage: text → Statement. Pure, cached by text, never raises.

In: SQL text. Out: a `Statement`; what sqlglot cannot read, or reads as something else, has no tree but a
reason. Order: cut into tokens → a reader of our own for commands → rewrite what sqlglot lacks → sqlglot.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from audit.core.gc_pause import collector_paused
from audit.core.guard import attempt
from lineage.sql.commands.registry import read_typed
from lineage.sql.commands.time_travel.at_before import read_points
from lineage.sql.statement import Statement
from lineage.sql.statement_types import QUERY_STARTS, SESSION_KINDS, kind_of_tree, kind_of_words
from lineage.sql.syntax.inline_policies import blank_clauses, inline_policies, without_clauses
from lineage.sql.syntax.pipe_syntax import without_pipes
from lineage.sql.syntax.retry_syntax import rewrite_for_retry
from lineage.sql.syntax.spark_syntax import literal_identifiers, rewrite_for_sqlglot, schema_evolution_at
from lineage.sql.targets import targets_of_tree
from lineage.sql.tokens import (
    SCHEMA_EVOLUTION,
    bracket_depth,
    deeper_than,
    parse_tokens,
    tokenize,
    tokenize_with_types,
    without_semicolons,
    word,
)
from lineage.sql.typed import Typed, command_of
from lineage.text_cache import TextCache

if TYPE_CHECKING:
    from sqlglot import exp

    from lineage.sql.commands.command import Command

# A tree takes about seventy times its text (TPC-DS: 100 KB a query): the cache holds some 50 MB at
# most of such queries, and a text longer than 32 KiB is not kept.
_KEPT = 512
_REMEMBERED = 16 * 1024
_CACHED_LENGTH = 32 * 1024
# sqlglot's compiled parser goes as deep as the text does: on a thread with a stack of 256 KiB, 150 levels end
# the process, and no exception tells of it. What is nested deeper is read from Spark's plan.
_DEEPEST = 100
_DDL_VERBS = frozenset({"CREATE", "REPLACE", "ALTER", "DROP", "RENAME", "SWAP", "UNDROP", "GRANT", "REVOKE"})


def parse(sql: str) -> Statement:
    """The statement of a text: its type, its tree, or the reason why it has none.

    >>> parse("SELECT a FROM s.t").references
    (('s', 't'),)
    """
    if len(sql) <= _CACHED_LENGTH:
        return _cached(sql)
    # Only a long text: short ones gain nothing, and the collector belongs to the whole process.
    with collector_paused():
        return _parsed(sql)


def _parsed(sql: str) -> Statement:
    def failed(error: Exception) -> Statement:  # an error of the parser must not fail the user's statement
        return Statement(sql, "UNKNOWN", changes_session=True, reason=f"{type(error).__name__}: {error}")

    return attempt(lambda: _understood(sql), failed)


_cached = TextCache(_parsed, _KEPT, _REMEMBERED)


def typed_of(sql: str) -> Typed | None:
    """What a text is by its type alone, without a tree: for text that a stage has changed.

    >>> typed_of("DROP TABLE IF EXISTS s.t;").name
    ('s', 't')
    """
    tokens = without_semicolons(tokenize(sql) or [])
    if not tokens or _holds_semicolon(tokens):
        return None
    return read_typed(literal_identifiers(tokens, sql.upper()), sql)


def _understood(sql: str) -> Statement:
    tokens, types = tokenize_with_types(sql)
    if tokens is None:
        return Statement(sql, "UNKNOWN", changes_session=True, reason="text that cannot be cut into tokens")
    tokens = without_semicolons(tokens)
    if not tokens:
        return Statement(sql, "UNKNOWN", reason="no statement")
    upper = sql.upper()
    # First, so that each reader finds a name where a text has IDENTIFIER('s.t').
    tokens = literal_identifiers(tokens, upper)
    points = read_points(tokens, sql)
    if _is_block(tokens) or (TokenType.SEMICOLON in types and _holds_semicolon(tokens)):
        return Statement(sql, "SCRIPT", changes_session=True, reason="SQL script", points=points)
    typed = read_typed(tokens, sql)
    command = command_of(typed)
    if command is not None:
        found = _of_command(sql, command, tokens)
    else:
        found = _of_tokens(sql, tokens, types, upper)
    return found if typed is None and not points else replace(found, typed=typed, points=points)


def _of_tokens(sql: str, tokens: list[Token], types: AbstractSet[TokenType], upper: str) -> Statement:
    """The statement that sqlglot reads from the tokens."""
    clauses = inline_policies(tokens, sql, upper)
    if clauses:
        found = _of_plain_tokens(sql, without_clauses(tokens, clauses), types, upper)
        changes = tuple([change for clause in clauses for change in clause.changes])
        return replace(found, changes=changes, without_changes=blank_clauses(sql, tokens, clauses))
    return _of_plain_tokens(sql, tokens, types, upper)


def _of_plain_tokens(sql: str, tokens: list[Token], types: AbstractSet[TokenType], upper: str) -> Statement:
    readable, reason = _readable(tokens, types, upper)
    if readable is None:
        return _without_tree(sql, tokens, reason)
    tree, reason = _tree(rewrite_for_sqlglot(readable, types, upper), sql)
    if tree is None:
        return _without_tree(sql, tokens, reason)
    if "EVOLUTION" in upper and schema_evolution_at(tokens) is not None:
        tree.meta[SCHEMA_EVOLUTION] = True
    return _of_tree(sql, tokens, tree)


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
    nested = without_pipes(tokens)
    if nested is None:
        return None, "pipe syntax |>"
    return (None, "nested too deep to parse") if bracket_depth(nested) > _DEEPEST else (nested, "")


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
        # Of the first attempt: the tokens of the second are not those that the user has written.
        reason = _message(error)
    rewritten = rewrite_for_retry(tokens)
    if rewritten is not None:
        try:
            return parse_tokens(rewritten, sql), "several statements"
        except (SqlglotError, RecursionError):
            pass
    return None, reason


def _message(error: SqlglotError) -> str:
    details = getattr(error, "errors", None)
    if details:
        first = details[0]
        # Behind these words sqlglot prints its own classes, which tell a user nothing.
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
    """Whether a name is IDENTIFIER(…) of an expression that only Spark can evaluate."""
    if not any(name and name[-1].upper() == "IDENTIFIER" for name in names):
        return False
    return any(word(tokens, at) == "IDENTIFIER" and word(tokens, at + 1) == "(" for at in range(len(tokens)))


def _without_tree(sql: str, tokens: list[Token], reason: str) -> Statement:
    kind = kind_of_words(tokens)
    is_query = kind == "SELECT" and word(tokens, 0) in QUERY_STARTS
    return Statement(
        sql,
        kind,
        is_query=is_query,
        is_ddl=kind.split("_")[0] in _DDL_VERBS,
        # Without a tree nobody knows what an unknown statement does, or whether a view is a temporary one.
        changes_session=kind == "UNKNOWN" or kind in SESSION_KINDS or kind.endswith("_VIEW"),
        reason=reason,
    )


def _of_tree(sql: str, tokens: list[Token], tree: exp.Expr) -> Statement:
    kind, is_query, temporary = kind_of_tree(tree)
    if kind == "UNKNOWN":
        return _without_tree(sql, tokens, f"{type(tree).__name__.upper()} is not understood")
    # A write to an unknown target would be recorded as none at all, so the statement has no tree.
    # UPDATE, DELETE and MERGE have a tree whose target has no name.
    names = (parts or ("IDENTIFIER",) for parts, _ in targets_of_tree(tree))
    if not is_query and _calls_identifier(tokens, names):
        return _without_tree(sql, tokens, "IDENTIFIER() of an expression")
    return Statement(
        sql,
        kind,
        is_query=is_query,
        is_ddl=kind.split("_")[0] in _DDL_VERBS,
        changes_session=temporary or kind in SESSION_KINDS,
        tree=tree,
        temporary=temporary,
    )
