"""Random queries over a random schema, nearly all well-formed for Spark, in any shape of the grammar here.

In: a seed, and hypothesis' draws. Out: tables with their columns, and the text of a query over them. Columns
are INT but for the nested ones, whose kinds stand beside their names.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import strategies as st

NAMES = ("a", "b", "c", "d", "Käse", "two words", "select")
KINDS = ("INT", "INT", "INT", "STRUCT<x: INT, y: INT>", "ARRAY<INT>", "MAP<STRING, INT>")


def quoted(name):
    """A name as SQL takes it."""
    return name if name.isascii() and name.isalpha() and name != "select" else f"`{name}`"


@dataclass
class Query:
    """A text and the columns that it yields: (name, kind)."""

    text: str
    columns: list


@dataclass
class Draft:
    """What a query under construction may name: sources by alias, CTEs by name."""

    draw: object
    tables: dict
    ctes: dict = field(default_factory=dict)
    made: int = 0

    def pick(self, items):
        """One of them."""
        return self.draw(st.sampled_from(list(items)))

    def chance(self, one_in):
        """True once in so many draws."""
        return self.draw(st.integers(1, one_in)) == 1

    def fresh(self, stem):
        """A name that no one else has."""
        self.made += 1
        return f"{stem}{self.made}"


def schema(seed):
    """Six tables of two to five columns; their names are everybody's or hostile."""
    dice = random.Random(seed)  # noqa: S311  no secret
    tables = {}
    for at in range(6):
        names = dice.sample(NAMES, dice.randint(2, 5))
        tables[f"t{at}"] = [(name, dice.choice(KINDS) if n else "INT") for n, name in enumerate(names)]
    return tables


@st.composite
def queries(draw, tables):
    """A query over the tables."""
    draft = Draft(draw, tables)
    ctes = {}
    if draft.chance(3):
        for _ in range(draw(st.integers(1, 2))):
            name = draft.fresh("q")
            body = query(draft, 1)
            ctes[name] = body.text
            draft.ctes[name] = body.columns
    text = query(draft, 2).text
    parts = used(ctes, text)
    return f"WITH {', '.join(parts)} {text}" if parts else text


def used(ctes, text):
    """Those that the text names, or that one of those does: of the others Spark's plan keeps no trace."""
    parts = []
    for name, body in reversed(ctes.items()):
        if re.search(rf"\b{name}\b", " ".join([text, *parts])):
            parts.insert(0, f"{name} AS ({body})")
    return parts


def query(draft, depth):
    """A SELECT, a set operation, a PIVOT or an UNPIVOT; its columns have names of their own."""
    if depth and draft.chance(5):
        return set_operation(draft, depth)
    if depth and draft.chance(9):
        return draft.pick((pivot, unpivot))(draft, depth)
    return select(draft, depth)


def pivot(draft, depth):
    """Rows of three INT columns, turned."""
    inner = select(draft, depth - 1, ints=3)
    (kept, _), (key, _), (value, _) = inner.columns[:3]
    names = [draft.fresh("p"), draft.fresh("p")]
    call = f"{draft.pick(('max', 'count'))}({value})"
    turned = f"PIVOT ({call} FOR {key} IN (1 AS {names[0]}, 2 AS {names[1]}))"
    columns = [(kept, "INT"), *((name, "INT") for name in names)]
    return Query(f"SELECT {kept}, {', '.join(names)} FROM ({inner.text}) {turned}", columns)


def unpivot(draft, depth):
    """Columns as rows."""
    inner = select(draft, depth - 1, ints=3)
    (kept, _), (one, _), (two, _) = inner.columns[:3]
    value, name = draft.fresh("v"), draft.fresh("n")
    turned = f"UNPIVOT ({value} FOR {name} IN ({one}, {two}))"
    return Query(
        f"SELECT {kept}, length({name}) AS {name}, {value} FROM ({inner.text}) {turned}",
        [(kept, "INT"), (name, "INT"), (value, "INT")],
    )


def set_operation(draft, depth):
    """Both sides have as many INT columns."""
    one = select(draft, depth - 1, ints=2)
    two = select(draft, depth - 1, ints=2)
    kind = draft.pick(("UNION ALL", "UNION", "INTERSECT", "EXCEPT ALL", "MINUS"))
    tail = f" ORDER BY {quoted(one.columns[0][0])}" if draft.chance(4) else ""
    return Query(f"({one.text}) {kind} ({two.text}){tail}", one.columns)


def source(draft, depth, scope):
    """An item of FROM; fills `scope` with (reference, kind)."""
    choice = draft.draw(st.integers(0, 5 if depth else 3))
    alias = draft.fresh("s")
    if choice == 3 and draft.ctes:
        name = draft.pick(sorted(draft.ctes))
        columns, text = draft.ctes[name], f"{name} {alias}"
    elif choice >= 4:
        inner = query(draft, depth - 1)
        columns, text = inner.columns, f"({inner.text}) {alias}"
    elif draft.chance(9):
        columns = [("v1", "INT"), ("v2", "INT")]
        text = f"(VALUES (1, 2), (3, 4)) AS {alias}(v1, v2)"
    else:
        name = draft.pick(sorted(draft.tables))
        columns, text = draft.tables[name], f"{name} AS {alias}"
    if draft.chance(6) and "VALUES" not in text[:8]:
        columns = [(draft.fresh("r"), kind) for _, kind in columns]
        text += f"({', '.join(name for name, _ in columns)})"
    scope += [(f"{alias}.{quoted(name)}", kind, alias) for name, kind in columns]
    return text


def from_clause(draft, depth):
    """Sources joined in every way; gives the text and the scope."""
    scope = []
    text = source(draft, depth, scope)
    for _ in range(draft.draw(st.integers(0, 2))):
        kind = draft.pick(
            ("JOIN", "LEFT JOIN", "FULL JOIN", "CROSS JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", ",")
        )
        added = []
        right = source(draft, depth, added)
        keys = shared(scope, added)
        if keys and kind in ("JOIN", "LEFT JOIN", "FULL JOIN") and draft.chance(2):
            key = draft.pick(keys)
            text = f"{text} {kind} {right} USING ({key})"
            scope = [*scope, *added, (key, "INT", None)]
            continue
        if kind == ",":
            text, scope = f"{text}, {right}", scope + added
            continue
        on = ""
        if kind != "CROSS JOIN":
            on = f" ON {scalar(draft, scope, 1)} = {scalar(draft, added, 1)}"
        text = f"{text} {kind} {right}{on}"
        if "SEMI" not in kind and "ANTI" not in kind:
            scope = scope + added
    if depth and draft.chance(6):
        alias, made = draft.fresh("l"), draft.fresh("m")
        inner, columns = from_clause(draft, 0)
        where = f"{leaf(draft, columns)} = {outer_leaf(scope, draft)}"
        text += f", LATERAL (SELECT {scalar(draft, columns, 1)} AS {made} FROM {inner} WHERE {where}) {alias}"
        scope = [*scope, (f"{alias}.{made}", "INT", alias)]
    if draft.chance(4):
        arrays = [ref for ref, kind, _ in scope if kind.startswith("ARRAY")]
        if arrays:
            name = draft.fresh("e")
            text += f" LATERAL VIEW {draft.pick(('', 'OUTER '))}explode({draft.pick(arrays)}) {name} AS x"
            scope = [*scope, (f"{name}.x", "INT", name)]
    return text, scope


def shared(scope, added):
    """Names of plain columns that each side has once: what USING may name."""
    sides = [
        Counter(reference.split(".", 1)[-1].lower() for reference, *_ in side) for side in (scope, added)
    ]
    plain = {reference.split(".", 1)[-1] for reference, kind, _ in added if kind == "INT"}
    left = {reference.split(".", 1)[-1] for reference, kind, _ in scope if kind == "INT"}
    return sorted(name for name in plain & left if all(side[name.lower()] == 1 for side in sides))


def leaf(draft, scope):
    """A value of type INT from one column, or a literal."""
    if not scope or draft.chance(8):
        return str(draft.draw(st.integers(0, 9)))
    reference, kind, _ = draft.pick(scope)
    if kind.startswith("STRUCT"):
        return f"{reference}.{draft.pick('xy')}"
    if kind.startswith("ARRAY"):
        return draft.pick(
            (
                f"{reference}[0]",
                f"size({reference})",
                f"aggregate({reference}, 0, (acc, x) -> acc + x)",
                f"size(filter({reference}, x -> x > 1))",
            )
        )
    if kind.startswith("MAP"):
        return f"{reference}['k']"
    return reference


def scalar(draft, scope, depth):
    """An INT expression."""
    if depth <= 0 or draft.chance(3):
        return leaf(draft, scope)
    one, two = scalar(draft, scope, depth - 1), scalar(draft, scope, depth - 1)
    if depth > 1 and draft.chance(6):
        inner, columns = from_clause(draft, 0)
        where = f"{leaf(draft, columns)} = {outer_leaf(scope, draft)}"
        return f"(SELECT max({leaf(draft, columns)}) FROM {inner} WHERE {where})"
    return draft.pick(
        (
            f"CASE WHEN {one} > 1 THEN {two} ELSE {leaf(draft, scope)} END",
            f"coalesce({one}, {two})",
            f"if({one} = {two}, {leaf(draft, scope)}, 0)",
            f"abs(-({one}))",
            f"({one} + {two})",
            f"({one} * {two})",
            f"named_struct('f', {one}, 'g', {two}).g",
            f"map('k', {one}, 'l', {two})['l']",
            f"transform(array({one}), x -> x + {two})[0]",
        )
    )


def outer_leaf(scope, draft):
    """A plain INT column of the query around, or a literal."""
    plain = [reference for reference, kind, _ in scope if kind == "INT"]
    return draft.pick(plain) if plain else "1"


def condition(draft, scope):
    """A predicate."""
    shape = draft.draw(st.integers(0, 4))
    one = scalar(draft, scope, 1)
    if shape < 2:
        return f"{one} > {leaf(draft, scope)}"
    inner, columns = from_clause(draft, 0)
    if shape == 2:
        return f"EXISTS (SELECT 1 FROM {inner} WHERE {leaf(draft, columns)} = {outer_leaf(scope, draft)})"
    return f"{one} {draft.pick(('IN', 'NOT IN'))} (SELECT {leaf(draft, columns)} FROM {inner})"


def select(draft, depth, ints=None):
    """A SELECT, grouped or not."""
    text, scope = from_clause(draft, depth)
    where = f" WHERE {condition(draft, scope)}" if draft.chance(2) else ""
    if draft.chance(4):
        return grouped(draft, scope, text, where, ints)
    items, columns = [], []
    for _ in range(ints or draft.draw(st.integers(1, 3))):
        name = draft.fresh("c")
        value = windowed(draft, scope) if draft.chance(5) else scalar(draft, scope, 2)
        if columns and "OVER" not in items[-1] and draft.chance(5):
            value = f"({columns[-1][0]} + {leaf(draft, scope)})"  # an alias of the same list
        items.append(f"{value} AS {name}")
        columns.append((name, "INT"))
    if ints is None and draft.chance(3):
        aliases = sorted({alias for *_, alias in scope if alias})
        alias = draft.pick(aliases)
        mine = [
            (reference.split(".", 1)[1].strip("`"), kind)
            for reference, kind, owner in scope
            if owner == alias
        ]
        taken = {name.lower() for name, _ in columns}
        if len({name.lower() for name, _ in mine} - taken) == len(mine):
            items.append(f"{alias}.*")
            columns += mine
    distinct = "DISTINCT " if draft.chance(6) and all(kind == "INT" for _, kind in columns) else ""
    order = f" ORDER BY {columns[0][0]}" if draft.chance(4) else ""
    limit = " LIMIT 3" if order and draft.chance(2) else ""
    return Query(f"SELECT {distinct}{', '.join(items)} FROM {text}{where}{order}{limit}", columns)


def windowed(draft, scope):
    """A window function."""
    call = draft.pick((f"sum({leaf(draft, scope)})", "row_number()", "rank()", f"lag({leaf(draft, scope)})"))
    part = f"PARTITION BY {leaf(draft, scope)} " if draft.chance(2) else ""
    return f"{call} OVER ({part}ORDER BY {leaf(draft, scope)})"


def grouped(draft, scope, text, where, ints):
    """An aggregate query."""
    key = leaf(draft, scope)
    keyed = not key.isdigit()
    items, columns = [], []
    for at in range(ints or draft.draw(st.integers(1, 3))):
        name = draft.fresh("g")
        value = key if at == 0 and keyed else aggregate(draft, scope)
        items.append(f"{value} AS {name}")
        columns.append((name, "INT"))
    having = f" HAVING {aggregate(draft, scope)} > 1" if draft.chance(3) else ""
    group = f" GROUP BY {key}" if keyed else ""
    second = leaf(draft, scope)
    if keyed and not second.isdigit() and second != key and draft.chance(3):
        sets = (
            f"ROLLUP ({key}, {second})",
            f"CUBE ({key}, {second})",
            f"{key}, {second} GROUPING SETS (({key}), ({second}))",
        )
        group = f" GROUP BY {draft.pick(sets)}"
    return Query(f"SELECT {', '.join(items)} FROM {text}{where}{group}{having}", columns)


def aggregate(draft, scope):
    """An aggregate of type INT."""
    value = leaf(draft, scope)
    return draft.pick(
        (
            f"max({value})",
            f"CAST(sum({value}) AS INT)",
            "CAST(count(*) AS INT)",
            f"CAST(count(DISTINCT {value}) AS INT)",
            f"CAST(sum({value}) FILTER (WHERE {leaf(draft, scope)} > 1) AS INT)",
        )
    )
