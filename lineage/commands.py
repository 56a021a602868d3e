"""A small reader of statements that sqlglot lacks, over sqlglot's tokens.

In: the tokens of a statement. Out: a `Command`, or None where the statement is sqlglot's to read.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import Token, TokenType

from lineage.cursor import Cursor
from lineage.governance_commands import read_governance, speaks_of_governance
from lineage.grant_commands import read_grant, read_show_grants
from lineage.model import Domain
from lineage.role_commands import read_roles
from lineage.showing_commands import read_describe, read_show
from lineage.statement import Command
from lineage.tokens import read_name, word

_SCHEMAS = ("SCHEMA", "DATABASE", "NAMESPACE")
_GOVERNED = frozenset({"CREATE", "ALTER", "DROP", "UNDROP"})
_Reader = Callable[[list[Token], str], Command | None]


def read_command(tokens: list[Token], text: str) -> Command | None:
    """The command that the first words announce."""
    first = word(tokens, 0)
    if "ROLE" in (word(tokens, 1), word(tokens, 3)):
        command = read_roles(tokens, text)
        if command is not None:
            return command
    if first in _GOVERNED:
        command = read_governance(tokens, text)
        if command is not None or speaks_of_governance(tokens):
            return command
    reader = _READERS.get(first)
    return None if reader is None else reader(tokens, text)


def _plain(kind: str) -> _Reader:
    def read(tokens: list[Token], text: str) -> Command | None:
        del tokens, text
        return Command(kind)

    return read


def _named(kind: str, *skip: str) -> _Reader:
    """A command about one table: `VERB [TABLE …] name …`."""

    def read(tokens: list[Token], text: str) -> Command | None:
        del text
        at = 1
        while word(tokens, at) in skip:
            at += 1
        name, _ = read_name(tokens, at)
        return Command(kind, target=name)

    return read


def _describe(tokens: list[Token], text: str) -> Command | None:
    asked = read_describe(tokens, text)
    if asked is not None:
        return asked
    at = 1
    if word(tokens, at) == "QUERY":
        return Command("DESCRIBE", text=text[tokens[at].end + 1 :])
    if word(tokens, at) in ("FUNCTION", *_SCHEMAS, "CATALOG"):
        return Command("DESCRIBE")
    if word(tokens, at) in ("SELECT", "WITH", "FROM", "VALUES", "TABLE") and word(tokens, at) != "TABLE":
        return Command("DESCRIBE", text=text[tokens[at].start :])
    # DESCRIBE detail may be a table named detail: a keyword only where a name follows it.
    while word(tokens, at) in ("TABLE", "EXTENDED", "FORMATTED", "DETAIL", "HISTORY") and at + 1 < len(
        tokens
    ):
        at += 1
    name, _ = read_name(tokens, at)
    return Command("DESCRIBE", target=name)


def _show(tokens: list[Token], text: str) -> Command | None:
    if word(tokens, 1) == "GRANTS":
        return read_show_grants(tokens, text) or Command("SHOW")
    asked = read_show(tokens, text)
    if asked is not None:
        return asked
    if word(tokens, 1) == "CREATE" and word(tokens, 2) == "TABLE":
        return Command("SHOW", target=read_name(tokens, 3)[0])
    if word(tokens, 1) in ("COLUMNS", "TBLPROPERTIES", "PARTITIONS"):
        at = 3 if word(tokens, 2) in ("IN", "FROM") else 2
        return Command("SHOW", target=read_name(tokens, at)[0])
    return Command("SHOW")


def _explain(tokens: list[Token], text: str) -> Command | None:
    at = 1
    while word(tokens, at) in ("EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL", "ANALYZE"):
        at += 1
    return Command("EXPLAIN", text=text[tokens[at].start :] if at < len(tokens) else None)


def _execute(tokens: list[Token], text: str) -> Command | None:
    del text
    literal = tokens[2] if len(tokens) > 2 else None  # noqa: PLR2004
    body = literal.text if literal is not None and literal.token_type is TokenType.STRING else None
    return Command("EXECUTE_IMMEDIATE", text=body)


def _set(tokens: list[Token], text: str) -> Command | None:
    # SET VAR x = (SELECT …) reads; SET a.b = c sets a configuration.
    if word(tokens, 1) not in ("VAR", "VARIABLE"):
        return Command("SET")
    return Command("SET", text=_values(Cursor(tokens, text, 2)))


def _values(at: Cursor) -> str | None:
    """The values of `x = 1, (y, z) = (SELECT …)` as a select list; None where none of them reads."""
    found: list[str] = []
    while not at.done:
        at.span("=")
        if not at.take("="):
            break
        found.append(at.span(","))
        at.take(",")
    return (
        ", ".join(found)
        if any("SELECT" in value.upper() or "FROM" in value.upper() for value in found)
        else None
    )


def _declare(tokens: list[Token], text: str) -> Command | None:
    # DECLARE [OR REPLACE] [VARIABLE] x, y INT DEFAULT (SELECT …): the default reads.
    at = Cursor(tokens, text, 1)
    while at.take_one("OR", "REPLACE", "VAR", "VARIABLE"):
        pass
    name = at.name()
    at.span("DEFAULT", "=")
    value = at.span() if at.take("DEFAULT") or at.take("=") else ""
    return Command("DECLARE", target=name, text=value if "SELECT" in value.upper() else None)


def _restore(tokens: list[Token], text: str) -> Command | None:
    at = 2 if word(tokens, 1) == "TABLE" else 1
    name, end = read_name(tokens, at)
    version = text[tokens[end].start :] if end < len(tokens) else None
    return Command("RESTORE", target=name, version=version)


def _use(tokens: list[Token], text: str) -> Command | None:
    del text
    at = 1
    kind = word(tokens, at)
    if kind in (*_SCHEMAS, "CATALOG") and at + 1 < len(tokens):
        at += 1
    name, _ = read_name(tokens, at)
    return Command("USE", target=name, source=("CATALOG",) if kind == "CATALOG" and at == 2 else ())  # noqa: PLR2004


def _cache(tokens: list[Token], text: str) -> Command | None:
    # CACHE TABLE t AS SELECT is sqlglot's to read.
    at = 2 if word(tokens, 1) == "LAZY" else 1
    name, end = read_name(tokens, at + 1)
    if end < len(tokens) and word(tokens, end) not in ("OPTIONS", "(") and name:
        rest = text[tokens[end].end + 1 :] if word(tokens, end) == "AS" else text[tokens[end].start :]
        return Command("CACHE", target=name, text=rest)
    if end < len(tokens):
        close = next((n for n in range(end, len(tokens)) if word(tokens, n) == ")"), len(tokens) - 1)
        at = close + 1 + (word(tokens, close + 1) == "AS")
        if at < len(tokens):
            return Command("CACHE", target=name, text=text[tokens[at].start :])
    return Command("CACHE", target=name)


def _create(tokens: list[Token], text: str) -> Command | None:
    """[CREATE] [OR] [REPLACE] TABLE t [SHALLOW | DEEP] CLONE u [version]."""
    at = 1
    replace = word(tokens, 0) == "REPLACE" or word(tokens, at) == "OR"
    at += 2 if word(tokens, at) == "OR" else 0
    at += word(tokens, at) in ("EXTERNAL", "TEMPORARY")
    if word(tokens, at) != "TABLE":
        return None
    at, if_clause = _if_clause(tokens, at + 1)
    name, at = read_name(tokens, at)
    at += word(tokens, at) in ("SHALLOW", "DEEP")
    if word(tokens, at) != "CLONE":
        return None
    source, at = read_name(tokens, at + 1)
    version = Cursor(tokens, text, at).span("TBLPROPERTIES", "LOCATION") or None
    kind = "REPLACE_TABLE" if replace else "CREATE_TABLE"
    return Command(
        kind, Domain.TABLE, name, source, version=version, if_clause=if_clause, replace=replace,
        properties=(("creationMode", "CLONE"),),
    )  # fmt: skip


def _if_clause(tokens: list[Token], at: int) -> tuple[int, bool]:
    if word(tokens, at) == "IF":
        return at + (3 if word(tokens, at + 1) == "NOT" else 2), True
    return at, False


def _alter(tokens: list[Token], text: str) -> Command | None:
    noun = word(tokens, 1)
    if noun not in ("TABLE", "VIEW"):
        return _alter_container(tokens, text)
    at, if_clause = _if_clause(tokens, 2)
    name, at = read_name(tokens, at)
    domain = Domain.TABLE if noun == "TABLE" else Domain.VIEW
    verb, what = word(tokens, at), word(tokens, at + 1)
    if verb in ("SET", "UNSET") or (verb, what) in _ALTER_REST or verb in ("CLUSTER", "RECOVER", "PARTITION"):
        return Command(f"ALTER_{noun}", domain, name, if_clause=if_clause, properties=_set_pairs(tokens, at))
    if verb in ("CHANGE", "ALTER"):
        column, end = read_name(tokens, at + (2 if what == "COLUMN" else 1))
        if column and word(tokens, end) in ("COMMENT", "FIRST", "AFTER", "SET", "DROP"):
            return Command(
                f"ALTER_{noun}", domain, name, if_clause=if_clause, columns=((column[0], "ALTER"),)
            )
    if verb == "RENAME" and what == "TO":
        new_name, _ = read_name(tokens, at + 2)
        return Command(f"RENAME_{noun}", domain, name, if_clause=if_clause, new_name=new_name)
    return None


def _alter_container(tokens: list[Token], text: str) -> Command | None:
    if word(tokens, 1) == "ACCOUNT":
        return Command("ALTER_ACCOUNT", properties=_set_pairs(tokens, 2))
    if word(tokens, 1) not in _SCHEMAS:
        return None
    name, at = read_name(tokens, 2)
    return Command("ALTER_SCHEMA", Domain.SCHEMA, name, properties=_set_pairs(tokens, at), text=text)


_ALTER_REST = frozenset(
    {("ADD", "PARTITION"), ("DROP", "PARTITION"), ("ADD", "CONSTRAINT"), ("DROP", "CONSTRAINT"),
     ("ADD", "IF"), ("DROP", "FEATURE"), ("ADD", "CHECK"), ("DROP", "IF"), ("WITH", "SCHEMA")}
)  # fmt: skip


def _set_pairs(tokens: list[Token], at: int) -> tuple[tuple[str, str | None], ...]:
    """`SET TBLPROPERTIES ('a' = 'b')`, `UNSET TBLPROPERTIES ('a')`, `SET LOCATION 'p'` as pairs."""
    verb, what = word(tokens, at), word(tokens, at + 1)
    if what == "LOCATION" and at + 2 < len(tokens):
        return (("location", tokens[at + 2].text),)
    named = what in ("TBLPROPERTIES", "PROPERTIES", "DBPROPERTIES", "OPTIONS")
    if not named and (verb, word(tokens, at + 2)) not in (("SET", "="), ("UNSET", ""), ("UNSET", ",")):
        return ()
    pairs: list[tuple[str, str | None]] = []
    inner = [t for t in tokens[at + 1 + named :] if word([t], 0) not in ("(", ")")]
    key: list[str] = []
    value: str | None = None
    seen = False
    for token in [*inner, None]:
        if token is None or token.token_type is TokenType.COMMA:
            if key:
                pairs.append(("".join(key), None if verb == "UNSET" else value))
            key, value, seen = [], None, False
        elif token.token_type is TokenType.EQ:
            seen = True
        elif token.text.upper() in ("IF", "EXISTS") and token.token_type is not TokenType.STRING:
            continue
        elif seen or (key and token.token_type is TokenType.STRING):
            value = token.text
        else:
            key.append(token.text)
    return tuple(pairs)


def _drop(tokens: list[Token], text: str) -> Command | None:
    del text
    words = {word(tokens, n) for n in range(1, min(len(tokens), 4))}
    return Command("DROP_VARIABLE") if words & {"VARIABLE", "VAR"} else None


def _comment(tokens: list[Token], text: str) -> Command | None:
    del text
    noun = word(tokens, 2)
    domains = {"TABLE": Domain.TABLE, "VIEW": Domain.VIEW, **dict.fromkeys(_SCHEMAS, Domain.SCHEMA)}
    domain = domains.get(noun)
    name, at = read_name(tokens, 3)
    if domain is None or word(tokens, at) != "IS":
        return Command("COMMENT", target=name)
    value = tokens[at + 1].text if at + 1 < len(tokens) else None
    kind = "ALTER_SCHEMA" if domain is Domain.SCHEMA else f"ALTER_{noun}"
    return Command(kind, domain, name, properties=(("comment", value),))


def _refresh(tokens: list[Token], text: str) -> Command | None:
    del text
    at = 2 if word(tokens, 1) == "TABLE" else 1
    if word(tokens, 1) == "FUNCTION":
        return Command("REFRESH")
    return Command("REFRESH", target=read_name(tokens, at)[0])


_READERS: dict[str, _Reader] = {
    "ADD": _plain("ADD"),
    "ALTER": _alter,
    "ANALYZE": _named("ANALYZE", "TABLE"),
    "CACHE": _cache,
    "CALL": _named("CALL"),
    "CLEAR": _plain("UNCACHE"),
    "COMMENT": _comment,
    "CONVERT": _named("CONVERT", "TO", "DELTA"),
    "CREATE": _create,
    "DECLARE": _declare,
    "DESC": _describe,
    "DESCRIBE": _describe,
    "DROP": _drop,
    "EXECUTE": _execute,
    "EXPLAIN": _explain,
    "GRANT": read_grant,
    "LIST": _plain("LIST"),
    "MSCK": _named("REPAIR", "REPAIR", "TABLE"),
    "MSCK REPAIR": _named("REPAIR", "TABLE"),
    "OPTIMIZE": _named("OPTIMIZE", "TABLE"),
    "REFRESH": _refresh,
    "REORG": _named("OPTIMIZE", "TABLE"),
    "REPAIR": _named("REPAIR", "TABLE"),
    "REPLACE": _create,
    "RESET": _plain("RESET"),
    "RESTORE": _restore,
    "REVOKE": read_grant,
    "SET": _set,
    "SHOW": _show,
    "UNCACHE": _named("UNCACHE", "TABLE", "IF", "EXISTS"),
    "USE": _use,
    "VACUUM": _named("VACUUM", "TABLE"),
}
