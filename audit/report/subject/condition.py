"""The conditions that a statement's text puts on the rows of a table.

In: the text, the names of what it read. Out: for each place where it names the table, the parts of its WHERE
that a row must fulfil, and whether nothing else decides. A part counts where it is made of plain comparisons
of the table's own columns with literals: those mean the same in Spark and in DuckDB.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from audit.report.subject.columns import is_day
from lineage.names import split_recorded
from lineage.sql.fingerprint import text_hash

_OWNERS = (exp.Select, exp.Update, exp.Delete)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)
_DECIDES = ("limit", "offset", "having", "qualify", "sample", "with_", "joins", "laterals", "pivots", "match")
"""What a query may have that leaves rows out, beside its WHERE."""
_GENERATORS = (exp.Explode, exp.Inline)
_TEXT, _DATE, _BOOLEAN = "string", "date", "boolean"


@dataclass(frozen=True, slots=True)
class Place:
    """A place where a statement names the table.

    Attributes:
        conditions: each must hold of a row that comes through.
        name: by which the place calls the table.
        is_sole: the place reads nothing beside it: a column without a table is the table's.
    """

    conditions: tuple[exp.Expr, ...]
    name: str
    is_sole: bool


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a text says.

    Attributes:
        places: of the table; none where the text does not tell.
        reason: why a row that fulfils all conditions need not come through; "": nothing else decides.
    """

    places: tuple[Place, ...]
    reason: str


def conditions_of(
    text: str, table: str, recorded_hash: str | None = None, others: Collection[str] = ()
) -> Conditions:
    """What a statement's text says of the rows of a table.

    Args:
        text: in Spark's SQL.
        table: its name on record: catalog.schema.table.
        recorded_hash: over the true text; None: that was not hashed.
        others: the names on record of all that the statement names.

    >>> found = conditions_of("SELECT a FROM s.t WHERE b = 1 AND c > 2", "c.s.t", others=["c.s.t"])
    >>> [one.sql() for one in found.places[0].conditions], found.reason
    (['b = 1', 'c > 2'], '')
    """
    tree = _parsed(text)
    if tree is None:
        return Conditions((), "what it asked for is not known as SQL")
    if isinstance(tree, exp.Merge):
        return Conditions((), "a MERGE is not evaluated")
    if recorded_hash is not None and text_hash(text) != recorded_hash:
        return Conditions((), "its text is on record without its values")
    nodes, reason = _named(tree, split_recorded(table.casefold()), others)
    if reason:
        return Conditions((), reason)
    return Conditions(tuple(map(_place, nodes)), _decided(tree, nodes))


def is_sql(text: str) -> bool:
    """Whether a text is one statement that reads or writes rows.

    >>> is_sql("SELECT 1"), is_sql("DataFrame.collect()")
    (True, False)
    """
    return _parsed(text) is not None


def _parsed(text: str) -> exp.Expr | None:
    try:
        tree = parse_one(text, read="spark")
    except SqlglotError:
        return None
    known = (exp.Query, exp.Insert, exp.Create, exp.Update, exp.Delete, exp.Merge)
    return tree if isinstance(tree, known) else None


def _named(tree: exp.Expr, table: Sequence[str], others: Collection[str]) -> tuple[list[exp.Table], str]:
    """The nodes that name the table; or why the text does not tell."""
    target = tree.find(exp.Table) if isinstance(tree, (exp.Insert, exp.Create)) else None
    of_with = {one.alias.casefold() for one in tree.find_all(exp.CTE)}
    known = [split_recorded(one.casefold()) for one in others]
    found = []
    for node in tree.find_all(exp.Table):
        if node is target:
            continue
        parts = tuple(one.name.casefold() for one in node.parts)
        if not isinstance(node.this, exp.Identifier) or parts[0] in {"delta", "parquet"}:
            return [], "its text names data by a path or a function"
        if len(parts) == 1 and parts[0] in of_with:
            if parts[-1] == table[-1]:
                return [], "a part of it has the name of the table"
        elif _means(parts, table):
            found.append(node)
        elif not any(_means(parts, one) for one in known):
            return [], f"its text names {'.'.join(parts)}, which is nothing on record"
    return found, "" if found else "its text does not name the table"


def _means(parts: Sequence[str], name: Sequence[str]) -> bool:
    return tuple(name[-len(parts) :]) == tuple(parts)


def _place(node: exp.Table) -> Place:
    owner = node.parent
    if isinstance(owner, (exp.From, exp.Join)):
        owner = owner.parent
    if not isinstance(owner, _OWNERS) or node.args.get("pivots"):
        return Place((), node.alias_or_name, is_sole=False)
    where = owner.args.get("where")
    conditions = tuple(where.this.flatten()) if where and isinstance(where.this, exp.And) else ()
    conditions = conditions or ((where.this,) if where else ())
    beside = any(owner.args.get(one) for one in ("joins", "laterals", "using", "pivots"))
    beside = beside or (isinstance(owner, exp.Update) and bool(owner.args.get("from_")))
    return Place(conditions, node.alias_or_name, is_sole=not beside)


def _decided(tree: exp.Expr, nodes: Sequence[exp.Table]) -> str:
    """Why the conditions of the one place do not decide alone; "" where they do."""
    query = tree.expression if isinstance(tree, (exp.Insert, exp.Create)) else tree
    if len(nodes) > 1:
        return "it names the table more than once"
    if not isinstance(query, _OWNERS) or any(one is not query for one in tree.find_all(exp.Query)):
        return "it is made of several queries"
    if not _place(nodes[0]).is_sole:
        return "it joins the table with others"
    if any(query.args.get(one) for one in _DECIDES) or nodes[0].args.get("sample"):
        return "it has a LIMIT, a HAVING, a QUALIFY or a sample, which leave rows out"
    return "it explodes a column, which leaves rows out" if tree.find(*_GENERATORS) else ""


def is_plain(
    condition: exp.Expr, place: Place, kinds: Mapping[str, str], masked: Collection[str] = ()
) -> bool:
    """Whether a condition is made of plain comparisons of the table's own columns with literals.

    Args:
        condition: a part of a WHERE.
        place: where it stands.
        kinds: Delta's types of the table's columns, by name in lower case.
        masked: columns whose values a policy may have changed before the condition.

    >>> of = conditions_of("SELECT 1 FROM t WHERE a = 1 AND upper(b) = 'X' AND a = '1'", "t").places[0]
    >>> [is_plain(one, of, {"a": "long", "b": "string"}) for one in of.conditions]
    [True, False, False]
    """
    own = _Own(place, kinds, frozenset(masked))
    if isinstance(condition, (exp.And, exp.Or)):
        parts: tuple[exp.Expr, ...] = (condition.this, condition.expression)
        return all(is_plain(one, place, kinds, masked) for one in parts)
    if isinstance(condition, (exp.Not, exp.Paren)):
        return is_plain(condition.this, place, kinds, masked)
    return any(
        (
            isinstance(condition, _COMPARISONS) and own.alike(condition.this, condition.expression),
            isinstance(condition, exp.Between) and own.between(condition),
            isinstance(condition, exp.In) and own.among(condition),
            isinstance(condition, exp.Is)
            and own.kind(condition.this) is not None
            and isinstance(condition.expression, exp.Null),
            own.kind(condition) == _BOOLEAN,
        )
    )


@dataclass(frozen=True, slots=True)
class _Own:
    """The columns of the table at a place, with their types."""

    place: Place
    kinds: Mapping[str, str]
    masked: frozenset[str]

    def kind(self, node: exp.Expr) -> str | None:
        """The type of a node that is a column of the table; None for anything else."""
        if not isinstance(node, exp.Column) or node.args.get("db"):
            return None
        called = node.table.casefold()
        is_own = called == self.place.name.casefold() if called else self.place.is_sole
        name = node.name.casefold()
        return self.kinds.get(name) if is_own and name not in self.masked else None

    def alike(self, one: exp.Expr, other: exp.Expr) -> bool:
        """A column beside a literal, or a column, of its type."""
        left, right = self.kind(one), self.kind(other)
        if left is not None and right is not None:
            return left == right
        if left is not None:
            return _is_literal(left, other)
        return right is not None and _is_literal(right, one)

    def between(self, node: exp.Between) -> bool:
        """BETWEEN of a column and two literals."""
        is_usual = not node.args.get("symmetric")
        return is_usual and all(self.alike(node.this, node.args[end]) for end in ("low", "high"))

    def among(self, node: exp.In) -> bool:
        """IN of a column and a list of literals."""
        others = any(value for name, value in node.args.items() if name not in {"this", "expressions"})
        return (
            bool(node.expressions) and not others and all(self.alike(node.this, x) for x in node.expressions)
        )


def _is_literal(kind: str, node: exp.Expr) -> bool:
    if kind == _BOOLEAN:
        return isinstance(node, exp.Boolean)
    if kind == _DATE and isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.DATE:
        node = node.this
    if isinstance(node, exp.Neg):
        return kind not in {_TEXT, _DATE} and isinstance(node.this, exp.Literal) and not node.this.is_string
    if not isinstance(node, exp.Literal):
        return False
    if kind == _DATE:
        return bool(node.is_string) and is_day(node.name)
    return bool(node.is_string) == (kind == _TEXT)
