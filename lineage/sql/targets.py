"""The names of the tables that a statement uses and of those that it writes.

In: a tree, or the command of a statement without one. Out: name parts; no catalog is asked. QUERY_HISTORY
lists them as the objects that a failed statement tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from lineage.model import Domain
from lineage.names import SCHEMA_NOUNS, split_recorded

if TYPE_CHECKING:
    from lineage.sql.commands.command import Command

Names = tuple[tuple[str, ...], ...]


def parts_of(node: exp.Expr | None) -> tuple[str, ...]:
    """The name parts of a Table (or of the Schema around it), outermost first."""
    while isinstance(node, (exp.Schema, exp.UserDefinedFunction)):
        node = node.args.get("this")
    if not isinstance(node, exp.Table):
        return (node.name,) if isinstance(node, exp.Identifier) else ()
    found = [node.args[k].name for k in ("catalog", "db") if node.args.get(k)]
    this = node.args.get("this")
    # sqlglot has keys for three parts; a longer name ends in a chain of dots.
    if isinstance(this, exp.Dot):
        found += [i.name for i in this.find_all(exp.Identifier)]
    elif isinstance(this, exp.Identifier):
        found.append(this.name)
    elif isinstance(this, exp.Anonymous) and this.name.upper() == "IDENTIFIER":
        literal = this.expressions[0] if this.expressions else None
        return split_recorded(literal.name) if isinstance(literal, exp.Literal) else ()
    elif this is not None:
        return ()
    return tuple(found)


# What these name is a variable, a procedure, a schema, a role or a column.
_OF_NO_TABLE = frozenset({"CALL", "COMMENT", "DECLARE", "USE", "USE_ROLE"})


def references_of(tree: exp.Expr | None, command: Command | None) -> Names:
    """Names used as tables, in order of the text, each once; CTEs and hints left out."""
    if tree is None:
        names = [] if command is None or command.kind in _OF_NO_TABLE else [command.target, command.source]
        # USE CATALOG keeps its word as `source` (`registry._use`).
        return tuple(dict.fromkeys(n for n in names if n and n != ("CATALOG",)))
    return tuple(dict.fromkeys(parts for _, parts in tables_used(tree)))


def tables_used(tree: exp.Expr) -> Iterator[tuple[exp.Table, tuple[str, ...]]]:
    """The tables of a tree with their names, in order of the text; names of CTEs and hints left out.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("WITH t AS (SELECT /*+ BROADCAST(t) */ * FROM t) SELECT * FROM t", "spark")
    >>> [name for _, name in tables_used(tree)]
    [('t',)]
    """
    # No recursion: to sqlglot a UNION of a thousand branches is a tree of that depth.
    stack: list[tuple[exp.Expr, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        item, names = stack.pop()
        if isinstance(item, exp.Table):
            parts = parts_of(item)
            if parts and not (len(parts) == 1 and parts[0].lower() in names):
                yield item, parts
        children: list[tuple[exp.Expr, frozenset[str]]] = []
        with_ = item.args.get("with_")
        if with_ is not None:
            names = _with(with_, names, children)
        for key, value in item.args.items():
            if key in ("with_", "hint", "hints"):
                continue
            items = value if isinstance(value, list) else (value,)
            children += [(item, names) for item in items if _may_hold_tables(item)]
        # A stack hands out the last one first, and the names come in the order of the text.
        children.reverse()
        stack += children


# Most of a tree; skipping them makes the search five times as fast.
_WITHOUT_TABLES = (exp.Column, exp.Identifier, exp.Literal, exp.DataType)


def _may_hold_tables(node: object) -> bool:
    return isinstance(node, exp.Expr) and not isinstance(node, _WITHOUT_TABLES)


def _with(
    with_: exp.Expr, names: frozenset[str], children: list[tuple[exp.Expr, frozenset[str]]]
) -> frozenset[str]:
    # A CTE sees those before it, and itself only where it is recursive.
    for cte in with_.expressions:
        after = names | {cte.alias.lower()}
        children.append((cte.args["this"], after if with_.args.get("recursive") else names))
        names = after
    return names


def targets_of(tree: exp.Expr | None, command: Command | None) -> tuple[tuple[tuple[str, ...], Domain], ...]:
    """What a DML or DDL statement writes, creates, changes or drops."""
    if command is not None:
        if command.domain is not None:
            names = (command.target, command.source) if command.swap else (command.target,)
            return tuple((name, command.domain) for name in names if name)
        return ((command.target, Domain.TABLE),) if command.kind == "RESTORE" and command.target else ()
    if tree is None:
        return ()
    return tuple((parts, domain) for parts, domain in targets_of_tree(tree) if parts)


def targets_of_tree(tree: exp.Expr) -> list[tuple[tuple[str, ...], Domain]]:  # noqa: PLR0911
    """The same of a tree alone; () for a name that is not written out."""
    if isinstance(tree, exp.MultitableInserts):
        return [pair for item in tree.expressions for pair in targets_of_tree(item)]
    if isinstance(tree, exp.Insert) and isinstance(tree.args["this"], exp.Directory):
        return [((tree.args["this"].name,), Domain.STAGE)]
    if isinstance(tree, exp.Copy):
        parts = parts_of(tree.args["this"])
        stage = len(parts) == 1 and "/" in parts[0]
        return [(parts, Domain.STAGE if stage else Domain.TABLE)]
    if isinstance(tree, (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.LoadData)):
        return [(parts_of(tree.args.get("this")), Domain.TABLE)]
    if isinstance(tree, exp.TruncateTable):
        return [(parts_of(table), Domain.TABLE) for table in tree.expressions]
    if isinstance(tree, (exp.Create, exp.Alter)):
        return [(parts_of(tree.args["this"]), _domain(tree))]
    if isinstance(tree, exp.Drop):
        return [(parts_of(table), _domain(tree)) for table in tree.args.get("tables") or ()]
    return []


def _domain(tree: exp.Expr) -> Domain:
    kind = str(tree.args.get("kind") or "").upper()
    domains = {"VIEW": Domain.VIEW, "FUNCTION": Domain.FUNCTION}
    if kind in SCHEMA_NOUNS:
        return Domain.SCHEMA
    return domains.get(kind, Domain.TABLE)
