"""Random queries as SQL, as a plan, and as what they are made of: a model that knows neither engine.

In: a hypothesis `draw`. Out: a `Query`. Each operator says in one place what it does to sources: a value has
the columns that it is computed from, a condition or key shapes the rows, a window's keys its column alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from hypothesis import strategies as st

from tests.plan.trees import Tree, alias, attribute, literal, node, project, table

TABLES = {"t": ("a", "b", "c"), "u": ("x", "y")}
Sources = frozenset[str]
NONE: Sources = frozenset()
Draw = Callable[[Any], Any]


@dataclass(frozen=True)
class Made:
    """A column or an expression: its name, its expression id, its sources, what shapes it alone."""

    name: str
    number: int
    sources: Sources = NONE
    by: Sources = NONE
    sql: str = ""
    tree: Tree = field(default_factory=list)

    @property
    def all(self) -> Sources:
        """What it reads when it is a condition."""
        return self.sources | self.by

    def outer(self) -> Made:
        """The column as expressions above name it."""
        return replace(self, sql=f"q.{self.name}", tree=[attribute(self.name, self.number)])


@dataclass(frozen=True)
class Query:
    """A query: its text, its plan, its columns, what shapes its rows, and the columns that its text names."""

    sql: str
    plan: Tree
    columns: tuple[Made, ...]
    rows: Sources
    named: Sources

    @property
    def expected(self) -> list[tuple[str, Sources, Sources]]:
        """The name, the sources and the indirect sources of each output."""
        return [(c.name, c.sources, (c.by | self.rows) - c.sources) for c in self.columns]


class Maker:
    """Draws queries; names and expression ids are used once."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.numbers = count(1)

    def query(self, depth: int) -> Query:
        """A query of at most so many operators one above the other."""
        kinds = [self.filtered, self.projected, self.grouped, self.distinct, self.joined, self.combined,
                 self.sorted, self.existing]  # fmt: skip
        return self.draw(st.sampled_from(kinds))(depth - 1) if depth else self.leaf()

    def leaf(self) -> Query:
        """All columns of a table, under new names."""
        name = self.draw(st.sampled_from(sorted(TABLES)))
        ids = {column: next(self.numbers) for column in TABLES[name]}
        made = [
            self.new(frozenset({f"{name}.{column}"}), NONE, f"{name}.{column}", [attribute(column, number)])
            for column, number in ids.items()
        ]
        named = frozenset(f"{name}.{column}" for column in ids)
        below = Query(f"s.{name}", [table(name, **ids)], (), NONE, named)
        return self.select(below, made)

    def new(self, sources: Sources, by: Sources, sql: str, tree: Tree) -> Made:
        """An expression under a new name."""
        number = next(self.numbers)
        return Made(f"c{number}", number, sources, by, sql, tree)

    def select(self, below: Query, made: list[Made], rows: Sources = NONE, tail: str = "") -> Query:
        """SELECT made FROM below."""
        items = ", ".join(f"{one.sql} AS {one.name}" for one in made)
        plan = [project(*(alias(one.name, one.number, *one.tree) for one in made)), *below.plan]
        text = f"SELECT {items} FROM {below.sql}{tail}"
        return Query(text, plan, tuple(made), below.rows | rows, below.named)

    def inner(self, below: Query) -> Query:
        """The query as an item of a FROM."""
        return replace(below, sql=f"({below.sql}) AS q")

    def one_of(self, below: Query) -> Made:
        """A column of a query."""
        found: Made = self.draw(st.sampled_from(below.columns))
        return found.outer()

    def expression(self, below: Query) -> Made:
        """An expression over one or two columns."""
        one, two = self.one_of(below), self.one_of(below)
        both, by = one.sources | two.sources, one.by | two.by
        plain = [
            self.new(one.sources, one.by, one.sql, one.tree),
            self.new(NONE, NONE, "7", [literal("7")]),
            self.new(one.sources, one.by, f"CAST({one.sql} AS BIGINT)", [node("Cast", 1), *one.tree]),
            self.new(both, by, f"{one.sql} + {two.sql}", [node("Add", 2), *one.tree, *two.tree]),
            self.new(
                both,
                by,
                f"CASE WHEN {one.sql} > 7 THEN {two.sql} END",
                [node("CaseWhen", 2), node("GreaterThan", 2), *one.tree, literal("7"), *two.tree],
            ),
        ]
        return self.draw(st.sampled_from(plain))

    # -- operators -----------------------------------------------------------------------------

    def condition(self, below: Query) -> tuple[Made, str, Tree]:
        """A condition on a column: what it reads, its text, its tree."""
        one = self.one_of(below)
        return one, f"{one.sql} > 7", [node("GreaterThan", 2), *one.tree, literal("7")]

    def filtered(self, depth: int) -> Query:
        """SELECT * … WHERE: what the condition reads shapes the rows."""
        below = self.query(depth)
        one, text, tree = self.condition(below)
        plan = [node("Filter", 1, condition=tree), *below.plan]
        return replace(
            below, sql=f"SELECT * FROM ({below.sql}) AS q WHERE {text}", plan=plan, rows=below.rows | one.all
        )

    def existing(self, depth: int) -> Query:
        """SELECT * … WHERE EXISTS: all that the subquery reads shapes the rows."""
        below, asked = self.query(depth), self.query(min(depth, 1))
        one = self.draw(st.sampled_from(asked.columns))
        mine = self.one_of(below)
        shape = [node("EqualTo", 2), attribute(one.name, one.number)]
        outer = node("OuterReference", exprId={"id": mine.number}, name=mine.name, e=mine.tree)
        inside = [project(alias("k", next(self.numbers), attribute(one.name, one.number)))]
        inside += [node("Filter", 1, condition=[*shape, outer]), *asked.plan]
        text = f"EXISTS (SELECT e.{one.name} FROM ({asked.sql}) AS e WHERE e.{one.name} = {mine.sql})"
        plan = [node("Filter", 1, condition=[node("Exists", 0, plan=inside)]), *below.plan]
        rows = below.rows | asked.rows | one.all | mine.all
        sql = f"SELECT * FROM ({below.sql}) AS q WHERE {text}"
        return Query(sql, plan, below.columns, rows, below.named | asked.named)

    def projected(self, depth: int) -> Query:
        """SELECT expressions; a window's keys shape its column alone."""
        below = self.query(depth)
        made = [self.expression(below) for _ in range(self.draw(st.integers(1, 3)))]
        query = self.select(self.inner(below), made)
        if not self.draw(st.booleans()):
            return query
        one, key = self.one_of(below), self.one_of(below)
        by_name = self.draw(st.booleans())
        over_what = "win" if by_name else f"(PARTITION BY {key.sql})"
        window = self.new(one.sources, one.by | key.all, f"sum({one.sql}) OVER {over_what}", [*one.tree])
        spec = [node("WindowSpecDefinition", 1), *key.tree]
        over = [node("WindowExpression", 2), node("AggregateExpression", 1), node("Sum", 1), *one.tree, *spec]
        tail = f" WINDOW win AS (PARTITION BY {key.sql})" if by_name else ""
        return self.select(self.inner(below), [*made, replace(window, tree=over)], tail=tail)

    def grouped(self, depth: int) -> Query:
        """GROUP BY: the keys shape the rows, an aggregate is made of its argument."""
        below = self.query(depth)
        key, one = self.one_of(below), self.one_of(below)
        first = self.new(key.sources, key.by, key.sql, key.tree)
        total = [node("AggregateExpression", 1), node("Sum", 1), *one.tree]
        second = self.new(one.sources, one.by, f"sum({one.sql})", total)
        query = self.select(self.inner(below), [first, second], key.all, f" GROUP BY {key.sql}")
        items = [alias(made.name, made.number, *made.tree) for made in (first, second)]
        head = node("Aggregate", 1, groupingExpressions=[key.tree], aggregateExpressions=items)
        return replace(query, plan=[head, *below.plan])

    def distinct(self, depth: int) -> Query:
        """SELECT DISTINCT: every column shapes the rows."""
        below = self.query(depth)
        every = NONE.union(*(column.all for column in below.columns))
        plan = [node("Distinct", 1), *below.plan]
        return replace(
            below, sql=f"SELECT DISTINCT * FROM ({below.sql}) AS q", plan=plan, rows=below.rows | every
        )

    def sorted(self, depth: int) -> Query:
        """ORDER BY: the key shapes the rows."""
        below = self.query(depth)
        key = self.one_of(below)
        plan = [node("Sort", 1, order=[[node("SortOrder", 1), *key.tree]]), *below.plan]
        return replace(
            below,
            sql=f"SELECT * FROM ({below.sql}) AS q ORDER BY {key.sql}",
            plan=plan,
            rows=below.rows | key.all,
        )

    def joined(self, depth: int) -> Query:
        """JOIN … ON: both keys shape the rows; a SEMI join yields the left side alone."""
        left, right = self.query(depth), self.query(min(depth, 1))
        one, two = self.draw(st.sampled_from(left.columns)), self.draw(st.sampled_from(right.columns))
        kind = self.draw(st.sampled_from(["Inner", "LeftOuter", "LeftSemi", "LeftAnti"]))
        words = {
            "Inner": "JOIN",
            "LeftOuter": "LEFT JOIN",
            "LeftSemi": "LEFT SEMI JOIN",
            "LeftAnti": "LEFT ANTI JOIN",
        }
        on = [node("EqualTo", 2), attribute(one.name, one.number), attribute(two.name, two.number)]
        plan = [node("Join", 2, joinType=kind, condition=on), *left.plan, *right.plan]
        columns = left.columns if "Semi" in kind or "Anti" in kind else left.columns + right.columns
        text = (
            f"SELECT * FROM ({left.sql}) AS l {words[kind]} ({right.sql}) AS r ON l.{one.name} = r.{two.name}"
        )
        return Query(
            text, plan, columns, left.rows | right.rows | one.all | two.all, left.named | right.named
        )

    def combined(self, depth: int) -> Query:
        """A set operation: EXCEPT yields values of the left alone; without ALL whole rows are compared."""
        left, right = self.query(depth), self.query(min(depth, 1))
        width = min(len(left.columns), len(right.columns))
        one, two = (self.first_columns(side, width) for side in (left, right))
        words = self.draw(
            st.sampled_from(["UNION ALL", "UNION", "EXCEPT ALL", "EXCEPT", "INTERSECT ALL", "INTERSECT"])
        )
        kind, keeps_all = words.partition(" ")[0].title(), words.endswith("ALL")
        pairs = list(zip(one.columns, two.columns, strict=True))
        columns, rows = one.columns, one.rows | two.rows
        if kind == "Except":
            rows = rows.union(*(b.all for _, b in pairs))
        else:
            columns = tuple(replace(a, sources=a.sources | b.sources, by=a.by | b.by) for a, b in pairs)
        if not keeps_all:
            rows = rows.union(*(column.all for column in columns))
        head = [node(kind, 2, isAll=keeps_all)] if kind != "Union" else [node("Union", 2)]
        head = [node("Distinct", 1), *head] if words == "UNION" else head
        plan = [*head, *one.plan, *two.plan]
        return Query(f"{one.sql} {words} {two.sql}", plan, columns, rows, one.named | two.named)

    def first_columns(self, side: Query, width: int) -> Query:
        """The first columns of a query, under new names."""
        outer = [column.outer() for column in side.columns[:width]]
        return self.select(self.inner(side), [self.new(c.sources, c.by, c.sql, c.tree) for c in outer])


@st.composite
def queries(draw: Draw, deepest: int = 4) -> Query:
    """A random query."""
    return Maker(draw).query(draw(st.integers(0, deepest)))
