"""What kind of statement a tree, or the first words of a text, are: QUERY_TYPE.

In: a tree or tokens. Out: names in the manner of Snowflake's QUERY_TYPE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from lineage.names import SCHEMA_NOUNS
from lineage.sql.tokens import word

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

# MAP and REDUCE begin Spark's `transformClause`: a query through a script.
QUERY_STARTS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "(", "MAP", "REDUCE"})
SESSION_KINDS = frozenset(
    {"USE", "USE_ROLE",
     "SET", "RESET", "DECLARE", "SCRIPT", "UNKNOWN", "EXECUTE_IMMEDIATE", "CALL", "DROP_VIEW",
     "DROP_TABLE", "DROP_SCHEMA", "CACHE", "UNCACHE", "ADD", "ALTER_VIEW", "CREATE_FUNCTION",
     "DROP_FUNCTION", "REFRESH", "DROP_VARIABLE"}
)  # fmt: skip


def kind_of_words(tokens: list[Token]) -> str:
    """The kind of a text that has no tree, from its first words."""
    words = [word(tokens, n) for n in range(min(len(tokens), 8))]
    first = words[0]
    if first in QUERY_STARTS:
        return _query_kind(tokens)
    if first in ("CREATE", "DROP", "ALTER", "REPLACE"):
        return _ddl_kind(words, tokens)
    if first == "COPY":
        return "COPY"
    simple = {"INSERT", "MERGE", "UPDATE", "DELETE", "TRUNCATE"}
    return first if first in simple else "UNKNOWN"


def _query_kind(tokens: list[Token]) -> str:
    # WITH … INSERT and FROM … INSERT write; INSERT inside parentheses does not occur.
    depth = 0
    for at in range(len(tokens)):
        text = word(tokens, at)
        depth += (text == "(") - (text == ")")
        if depth == 0 and text in ("INSERT", "UPDATE", "DELETE", "MERGE") and word(tokens, at + 1) in (
            "INTO", "OVERWRITE", "FROM", "WITH",
        ):  # fmt: skip
            return text
    return "SELECT"


def _ddl_kind(words: list[str], tokens: list[Token]) -> str:
    verb = "REPLACE" if "REPLACE" in words[:3] else words[0]
    # Spark's grammar takes VAR for VARIABLE.
    words = ["VARIABLE" if w == "VAR" else w for w in words]
    noun = next((w for w in words[1:] if w in ("TABLE", "VIEW", "FUNCTION", "VARIABLE", *SCHEMA_NOUNS)), "")
    if noun in SCHEMA_NOUNS:
        noun = "SCHEMA"
    if not noun:
        return "UNKNOWN"
    # As `_created` names them: only a table has a kind of its own for OR REPLACE.
    if noun in ("VIEW", "FUNCTION") and verb == "REPLACE":
        verb = "CREATE"
    if noun == "TABLE" and verb in ("CREATE", "REPLACE") and _selects(tokens):
        return f"{verb}_TABLE_AS_SELECT"
    return f"{verb}_{noun}"


def _selects(tokens: list[Token]) -> bool:
    return any(word(tokens, n) in ("SELECT", "VALUES", "FROM") for n in range(2, len(tokens)))


def kind_of_tree(tree: exp.Expr) -> tuple[str, bool, bool]:  # noqa: PLR0911
    """Kind, whether it is a query, whether it makes something temporary."""
    if isinstance(tree, (exp.Query, exp.Values)):
        return "SELECT", True, False
    kind = _SIMPLE.get(type(tree))
    if kind is not None:
        return kind, False, False
    if isinstance(tree, exp.Copy):
        return ("UNLOAD" if _is_path(tree.args["this"]) else "COPY"), False, False
    if isinstance(tree, exp.Create):
        return _created(tree)
    if isinstance(tree, exp.Drop):
        return _dropped(tree)
    if isinstance(tree, exp.Alter):
        return _altered(tree), False, False
    return "UNKNOWN", False, False


_SIMPLE: dict[type, str] = {
    exp.Insert: "INSERT",
    exp.MultitableInserts: "INSERT",
    exp.Merge: "MERGE",
    exp.Update: "UPDATE",
    exp.Delete: "DELETE",
    exp.TruncateTable: "TRUNCATE",
    exp.Cache: "CACHE",
    exp.LoadData: "LOAD",
}


def _is_path(node: exp.Expr) -> bool:
    this = node.args.get("this")
    # sqlglot makes an identifier of COPY INTO's quoted path; a table by its path has two parts: delta.`/p`.
    return isinstance(this, exp.Identifier) and ("/" in this.name) and not node.args.get("db")


def _created(tree: exp.Create) -> tuple[str, bool, bool]:
    noun = tree.args["kind"].upper()
    properties = tree.args.get("properties")
    temporary = properties is not None and any(properties.find_all(exp.TemporaryProperty))
    if noun in SCHEMA_NOUNS:
        return "CREATE_SCHEMA", False, False
    if noun in ("VIEW", "FUNCTION"):
        return f"CREATE_{noun}", False, temporary
    if noun != "TABLE":
        return "UNKNOWN", False, False
    verb = "REPLACE" if tree.args.get("replace") else "CREATE"
    suffix = "_AS_SELECT" if tree.args.get("expression") is not None else ""
    return f"{verb}_TABLE{suffix}", False, temporary


def _dropped(tree: exp.Drop) -> tuple[str, bool, bool]:
    noun = tree.args["kind"].upper()
    noun = "SCHEMA" if noun in SCHEMA_NOUNS else noun
    if noun not in ("TABLE", "VIEW", "SCHEMA", "FUNCTION"):
        return "UNKNOWN", False, False
    return f"DROP_{noun}", False, bool(tree.args.get("temporary"))


def _altered(tree: exp.Alter) -> str:
    noun = tree.args["kind"].upper()
    if noun not in ("TABLE", "VIEW"):
        return "UNKNOWN"
    if any(isinstance(action, exp.AlterRename) for action in tree.args.get("actions") or ()):
        return f"RENAME_{noun}"
    return f"ALTER_{noun}"
