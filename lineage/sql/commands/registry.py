"""The readers of statements that sqlglot lacks or reads incompletely, by their first word.

In: the tokens of a statement. Out: its typed value, or None where all of it is sqlglot's to read. A family of
statements has a file of its own beside this one; what is left here are Spark's commands that touch no data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot.tokenizer_core import Token, TokenType

from lineage.model import Domain
from lineage.names import SCHEMA_NOUNS
from lineage.sql.commands.backups.read_statements import (
    read_backup_ddl,
    read_describe_backups,
    read_show_backups,
)
from lineage.sql.commands.command import Command
from lineage.sql.commands.create import read_create
from lineage.sql.commands.governance.grant import read_grant, read_show_grants
from lineage.sql.commands.governance.role import read_roles
from lineage.sql.commands.governance.set_policies import read_governance, speaks_of_governance
from lineage.sql.commands.show import read_describe, read_show, read_show_objects
from lineage.sql.commands.time_travel.clone import read_clone_schema, read_clone_table
from lineage.sql.commands.time_travel.drop import read_drop, read_undrop
from lineage.sql.commands.time_travel.restore import read_restore
from lineage.sql.commands.time_travel.retention import read_alter_retention, read_show_parameters
from lineage.sql.commands.time_travel.statement_chain import read_chain
from lineage.sql.commands.time_travel.vacuum import read_vacuum
from lineage.sql.cursor import Cursor
from lineage.sql.function_definition import read_create_function
from lineage.sql.statement_types import QUERY_STARTS
from lineage.sql.tokens import read_name, word
from lineage.sql.typed import Typed

Reader = Callable[[list[Token], str], Typed | None]


def read_typed(tokens: list[Token], text: str) -> Typed | None:
    """The result of the first reader that knows the statement.

    A text with a clause about policies or tags that none of their readers has understood is for no other
    reader but those of CREATE: such a clause may stand in its columns or its body.
    """
    first = word(tokens, 0).partition(" ")[0]  # sqlglot's `ADD JAR` and `MSCK REPAIR` are one token
    for reader in GOVERNING.get(first, ()):
        found = reader(tokens, text)
        if found is not None:
            return found
    # Another reader would drop the clause, and the statement would run without its policy.
    if first in _GOVERNED and speaks_of_governance(tokens):
        return read_create(tokens, text) or read_create_function(tokens, text)
    for reader in READERS.get(first, ()):
        found = reader(tokens, text)
        if found is not None:
            return found
    return None


def _plain(kind: str) -> Reader:
    def read(tokens: list[Token], text: str) -> Command | None:
        del tokens, text
        return Command(kind)

    return read


def _named(kind: str, *skip: str) -> Reader:
    """A command about one table: `VERB [TABLE …] name …`."""

    def read(tokens: list[Token], text: str) -> Command | None:
        del text
        at = 1
        while word(tokens, at) in skip:
            at += 1
        name, _ = read_name(tokens, at)
        return Command(kind, target=name)

    return read


def _rest(tokens: list[Token], text: str, at: int) -> str:
    """The text from a token to the end of the statement."""
    return text[tokens[at].start : tokens[-1].end + 1] if at < len(tokens) else ""


def _describe(tokens: list[Token], text: str) -> Command | None:
    at = 1
    if word(tokens, at) == "QUERY":
        return Command("DESCRIBE", text=_rest(tokens, text, at + 1))
    # None of these names a table or view, which `Statement.references` would list.
    if word(tokens, at) in ("FUNCTION", *SCHEMA_NOUNS, "CATALOG"):
        return Command("DESCRIBE")
    # DESCRIBE TABLE t is no query TABLE t.
    if word(tokens, at) in ("SELECT", "WITH", "FROM", "VALUES"):
        return Command("DESCRIBE", text=_rest(tokens, text, at))
    # DESCRIBE detail may be a table named detail: a keyword only where a name follows it.
    while word(tokens, at) in ("TABLE", "EXTENDED", "FORMATTED", "DETAIL", "HISTORY") and at + 1 < len(
        tokens
    ):
        at += 1
    name, _ = read_name(tokens, at)
    return Command("DESCRIBE", target=name)


def _show(tokens: list[Token], text: str) -> Command | None:
    del text
    if word(tokens, 1) == "CREATE" and word(tokens, 2) == "TABLE":
        return Command("SHOW", target=read_name(tokens, 3)[0])
    # The other forms name no table.
    if word(tokens, 1) in ("COLUMNS", "TBLPROPERTIES", "PARTITIONS"):
        at = 3 if word(tokens, 2) in ("IN", "FROM") else 2
        name, at = read_name(tokens, at)
        # SHOW COLUMNS IN t IN s: the table t of the schema s.
        schema = read_name(tokens, at + 1)[0] if word(tokens, at) in ("IN", "FROM") else ()
        return Command("SHOW", target=(*schema, *name))
    return Command("SHOW")


def _explain(tokens: list[Token], text: str) -> Command | None:
    at = 1
    while word(tokens, at) in ("EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL", "ANALYZE"):
        at += 1
    return Command("EXPLAIN", text=_rest(tokens, text, at) or None)


def _execute(tokens: list[Token], text: str) -> Command | None:
    # Spark 4.2 takes an expression. What one other than of literals comes to is known to Spark alone, so such
    # a statement is opaque.
    at = Cursor(tokens, text, 2)
    body = at.literal()
    shown = at.done or at.word() in ("INTO", "USING")
    return Command("EXECUTE_IMMEDIATE", text=body if shown else None)


def _set(tokens: list[Token], text: str) -> Command | None:
    if word(tokens, 1) == "CATALOG":
        return _catalog(Cursor(tokens, text, 2)) or Command("SET")
    # SET VAR x = (SELECT …) reads; SET a.b = c sets a configuration.
    if word(tokens, 1) not in ("VAR", "VARIABLE"):
        return Command("SET")
    return Command("SET", text=_values(Cursor(tokens, text, 2)) if _holds_query(tokens, 2) else None)


def _values(at: Cursor) -> str:
    """The values of `x = 1, (y, z) = (SELECT …)` as a select list."""
    found: list[str] = []
    while not at.done:
        at.span("=")
        if not at.take("="):
            break
        found.append(at.span(","))
        at.take(",")
    return ", ".join(found)


def _declare(tokens: list[Token], text: str) -> Command | None:
    # DECLARE [OR REPLACE] [VARIABLE] x, y INT DEFAULT (SELECT …): the default reads.
    at = Cursor(tokens, text, 1)
    while at.take_one("OR", "REPLACE", "VAR", "VARIABLE"):
        pass
    name = at.name()
    at.span("DEFAULT", "=")
    reads = (at.take("DEFAULT") or at.take("=")) and _holds_query(tokens, at.at)
    return Command("DECLARE", target=name, text=at.span() if reads else None)


def _holds_query(tokens: list[Token], start: int) -> bool:
    """Whether a query stands in brackets from a token on: `(FROM t |> …)`, but not `extract(YEAR FROM a)`."""
    return any(
        word(tokens, at) == "(" and word(tokens, at + 1) in QUERY_STARTS - {"("}
        for at in range(start, len(tokens))
    )


def _analyze(tokens: list[Token], text: str) -> Typed | None:
    # ANALYZE TABLES [IN s] names a schema, or nothing.
    return Command("ANALYZE") if word(tokens, 1) == "TABLES" else _named("ANALYZE", "TABLE")(tokens, text)


def _use(tokens: list[Token], text: str) -> Command | None:
    named = len(tokens) > 2  # noqa: PLR2004  else the word is the name of a schema
    if named and word(tokens, 1) == "CATALOG":
        return _catalog(Cursor(tokens, text, 2))
    name, _ = read_name(tokens, 1 + (named and word(tokens, 1) in SCHEMA_NOUNS))
    return Command("USE", target=name)


def _catalog(at: Cursor) -> Command | None:
    """What follows SET CATALOG, Spark's own form, or USE CATALOG: a name or a string; None for neither."""
    name = at.string()
    parts = at.name() if name is None else (name,)
    return Command("USE", target=parts, source=("CATALOG",)) if parts else None


def _cache(tokens: list[Token], text: str) -> Command | None:
    lazy = word(tokens, 1) == "LAZY"
    at = 2 if lazy else 1
    name, end = read_name(tokens, at + 1)
    # AS is optional in Spark's grammar: CACHE TABLE t SELECT ….
    if end < len(tokens) and word(tokens, end) not in ("OPTIONS", "(") and name:
        rest = _rest(tokens, text, end + (word(tokens, end) == "AS"))
        return Command("CACHE", target=name, text=rest, lazy=lazy)
    if end < len(tokens):
        close = next((n for n in range(end, len(tokens)) if word(tokens, n) == ")"), len(tokens) - 1)
        at = close + 1 + (word(tokens, close + 1) == "AS")
        if at < len(tokens):
            return Command("CACHE", target=name, text=_rest(tokens, text, at), lazy=lazy)
    return Command("CACHE", target=name, lazy=lazy)


def _if_clause(tokens: list[Token], at: int) -> tuple[int, bool]:
    if word(tokens, at) == "IF":
        return at + (3 if word(tokens, at + 1) == "NOT" else 2), True
    return at, False


def _alter(tokens: list[Token], text: str) -> Command | None:
    del text
    noun = word(tokens, 1)
    if noun not in ("TABLE", "VIEW"):
        return _alter_container(tokens)
    at, if_clause = _if_clause(tokens, 2)
    name, at = read_name(tokens, at)
    domain = Domain.TABLE if noun == "TABLE" else Domain.VIEW
    verb, what = word(tokens, at), word(tokens, at + 1)
    # ADD, DROP and RENAME of columns are left to sqlglot, whose tree has their names.
    if verb in ("SET", "UNSET", "CLUSTER BY", "RECOVER", "PARTITION") or (verb, what) in _ALTER_REST:
        return Command(f"ALTER_{noun}", domain, name, if_clause=if_clause, properties=_set_pairs(tokens, at))
    if verb in ("CHANGE", "ALTER"):
        columns = _altered_columns(tokens, at + (2 if what == "COLUMN" else 1))
        if columns:
            return Command(f"ALTER_{noun}", domain, name, if_clause=if_clause, columns=columns)
    if verb == "RENAME" and what == "TO":
        new_name, _ = read_name(tokens, at + 2)
        return Command(f"RENAME_{noun}", domain, name, if_clause=if_clause, new_name=new_name)
    return None


def _altered_columns(tokens: list[Token], at: int) -> tuple[tuple[str, str], ...]:
    """`a SET NOT NULL, b TYPE BIGINT`; () for one new type and no more, whose tree sqlglot makes."""
    found: list[tuple[str, str]] = []
    only_types, level = True, 0
    starts = [at]
    for n in range(at, len(tokens)):
        here = word(tokens, n)
        level += (here in ("(", "<")) - (here in (")", ">")) - 2 * (here == ">>")
        if level == 0 and here == ",":
            starts.append(n + 1)
        only_types = only_types and here not in _OF_COLUMNS
    for start in starts:
        column, _ = read_name(tokens, start)
        if not column:
            return ()
        found.append((column[0], "ALTER"))
    return () if only_types and len(found) == 1 else tuple(found)


_OF_COLUMNS = frozenset({"COMMENT", "FIRST", "AFTER", "SET", "DROP"})


def _alter_container(tokens: list[Token]) -> Command | None:
    if word(tokens, 1) == "ACCOUNT":
        return Command("ALTER_ACCOUNT", properties=_set_pairs(tokens, 2))
    if word(tokens, 1) not in SCHEMA_NOUNS:
        return None
    name, at = read_name(tokens, 2)
    return Command("ALTER_SCHEMA", Domain.SCHEMA, name, properties=_set_pairs(tokens, at))


_ALTER_REST = frozenset(
    {("ADD", "PARTITION"), ("DROP", "PARTITION"), ("ADD", "CONSTRAINT"), ("DROP", "CONSTRAINT"),
     ("ADD", "IF"), ("DROP", "FEATURE"), ("ADD", "CHECK"), ("DROP", "IF"), ("WITH", "SCHEMA"),
     ("DEFAULT", "COLLATION")}
)  # fmt: skip


def _set_pairs(tokens: list[Token], at: int) -> tuple[tuple[str, str | None], ...]:
    """`SET TBLPROPERTIES ('a' = 'b')`, `UNSET TBLPROPERTIES ('a')`, `SET LOCATION 'p'` as pairs."""
    verb, what = word(tokens, at), word(tokens, at + 1)
    if what == "LOCATION" and at + 2 < len(tokens):
        return (("location", tokens[at + 2].text),)
    # Without one of these words it is Snowflake's form: SET a = 1, UNSET a.
    named = what in ("TBLPROPERTIES", "PROPERTIES", "DBPROPERTIES", "OPTIONS")
    if not named and (verb, word(tokens, at + 2)) not in (("SET", "="), ("UNSET", ""), ("UNSET", ",")):
        return ()
    pairs: list[tuple[str, str | None]] = []
    inner = [t for t in tokens[at + 1 + named :] if word([t], 0) not in ("(", ")")]
    key: list[str] = []
    value: str | None = None
    seen = False
    before: Token | None = None
    for token in [*inner, None]:
        if token is None or token.token_type is TokenType.COMMA:
            if key:
                pairs.append(("".join(key), None if verb == "UNSET" else value))
            key, value, seen = [], None, False
        elif token.token_type is TokenType.EQ:
            seen = True
        # In Spark's UNSET TBLPROPERTIES IF EXISTS ('a') the two words are no keys.
        elif token.text.upper() in ("IF", "EXISTS") and token.token_type is not TokenType.STRING:
            continue
        elif seen or (key and _begins_value(before, token)):
            value = token.text
        else:
            key.append(token.text)
        before = token
    return tuple(pairs)


def _begins_value(before: Token | None, token: Token) -> bool:
    # Spark takes a pair without `=` as well: ('a' 'b'), (c.d true). A key's parts touch each other or a dot.
    if before is None or token.token_type is TokenType.STRING:
        return True
    return TokenType.DOT not in (before.token_type, token.token_type) and before.end + 1 < token.start


def _drop(tokens: list[Token], text: str) -> Command | None:
    del text
    words = {word(tokens, n) for n in range(1, min(len(tokens), 4))}
    return Command("DROP_VARIABLE") if words & {"VARIABLE", "VAR"} else None


def _comment(tokens: list[Token], text: str) -> Command | None:
    noun = word(tokens, 2)
    domains = {"TABLE": Domain.TABLE, "VIEW": Domain.VIEW, **dict.fromkeys(SCHEMA_NOUNS, Domain.SCHEMA)}
    domain = domains.get(noun)
    name, at = read_name(tokens, 3)
    if domain is None or word(tokens, at) != "IS":
        return Command("COMMENT", target=name)
    # NULL, the other form of Spark's `comment`, is no string: it takes the comment away.
    value = Cursor(tokens, text, at + 1).string()
    kind = "ALTER_SCHEMA" if domain is Domain.SCHEMA else f"ALTER_{noun}"
    return Command(kind, domain, name, properties=(("comment", value),))


def _refresh(tokens: list[Token], text: str) -> Command | None:
    del text
    at = 2 if word(tokens, 1) == "TABLE" else 1
    # REFRESH FUNCTION reads no table; REFRESH 'path' has no name, only files.
    if word(tokens, 1) == "FUNCTION":
        return Command("REFRESH")
    return Command("REFRESH", target=read_name(tokens, at)[0])


GOVERNING: Mapping[str, tuple[Reader, ...]] = {
    "ALTER": (read_roles, read_backup_ddl, read_governance),
    "CREATE": (read_roles, read_backup_ddl, read_governance),
    "DROP": (read_roles, read_backup_ddl, read_governance),
    "GRANT": (read_roles, read_grant),
    "REVOKE": (read_roles, read_grant),
    "UNDROP": (read_governance, read_undrop),
    "USE": (read_roles,),
}
"""Readers of policies, tags, roles, privileges, backups, and of UNDROP; Spark has none of these."""
_GOVERNED = frozenset({"CREATE", "ALTER", "DROP", "UNDROP"})

READERS: Mapping[str, tuple[Reader, ...]] = {
    "ADD": (_plain("ADD"),),
    "ALTER": (read_alter_retention, _alter),
    "ANALYZE": (_analyze,),
    "CACHE": (_cache,),
    "CALL": (_named("CALL"),),
    "CLEAR": (_plain("UNCACHE"),),
    "COMMENT": (_comment,),
    "CONVERT": (_named("CONVERT", "TO", "DELTA"),),
    "CREATE": (read_clone_schema, read_clone_table, read_create, read_create_function),
    "DECLARE": (_declare,),
    "DESC": (read_chain, read_describe, read_describe_backups, _describe),
    "DESCRIBE": (read_chain, read_describe, read_describe_backups, _describe),
    "DROP": (read_drop, _drop),
    "EXECUTE": (_execute,),
    "EXPLAIN": (_explain,),
    "LIST": (_plain("LIST"),),
    # With a comment in between, MSCK and REPAIR are two tokens.
    "MSCK": (_named("REPAIR", "REPAIR", "TABLE"),),
    "OPTIMIZE": (_named("OPTIMIZE", "TABLE"),),
    "REFRESH": (_refresh,),
    # Delta's REORG TABLE … APPLY (PURGE) rewrites files and changes no row, as OPTIMIZE does.
    "REORG": (_named("OPTIMIZE", "TABLE"),),
    "REPAIR": (_named("REPAIR", "TABLE"),),
    "REPLACE": (read_clone_table, read_create),
    "RESET": (_plain("RESET"),),
    "RESTORE": (read_restore,),
    "SET": (_set,),
    # The chain first: its first statement alone would be read by one of the others.
    "SHOW": (
        read_chain,
        read_show_grants,
        read_show,
        read_show_backups,
        read_show_parameters,
        read_show_objects,
        _show,
    ),
    "UNCACHE": (_named("UNCACHE", "TABLE", "IF", "EXISTS"),),
    "USE": (_use,),
    "VACUUM": (read_vacuum,),
}
"""All other readers, in the order in which they are tried."""
