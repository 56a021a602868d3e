"""Random queries over a table with columns id INT, ssn STRING, region STRING, pay DECIMAL, and a view of it.

In: a seed. Out: the text of a query with `@t` where the table stands, `v_@t` where the view does. One seed
gives one query, everywhere.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

Columns = list[tuple[str, str]]
_TABLE: Columns = [("id", "n"), ("ssn", "s"), ("region", "s"), ("pay", "n")]
_VIEW: Columns = [("s", "s"), ("region", "s"), ("pay", "n")]
_WORDS = ("'111'", "'222'", "'***'", "'eu'", "'us'", "NULL", "''")
_JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


@dataclass
class _Maker:
    chance: random.Random
    names: int = 0

    def name(self) -> str:
        self.names += 1
        return f"n{self.names}"

    def relation(self, depth: int) -> tuple[str, Columns]:
        """What may stand in FROM, and its columns."""
        kinds = ("table", "table", "view", "query", "join", "union")
        kind = self.chance.choice(kinds if depth else ("table",))
        if kind in ("table", "view"):
            return ("@t", _TABLE) if kind == "table" else ("v_@t", _VIEW)
        if kind == "join":
            return self.join(depth - 1)
        text, columns = self.query(depth - 1)
        if kind == "union":
            other = self.chance.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
            second, more = self.query(depth - 1)
            if [kind for _, kind in columns] == [kind for _, kind in more]:
                text = f"({text}) {other} ({second})"
        return f"({text}) {self.name()}", columns

    def join(self, depth: int) -> tuple[str, Columns]:
        """Two relations whose columns get names of their own."""
        sides = []
        for _ in range(2):
            text, columns = self.relation(depth)
            fresh = [(self.name(), kind) for _, kind in columns]
            items = ", ".join(f"{old} AS {new}" for (old, _), (new, _) in zip(columns, fresh, strict=True))
            sides.append((f"(SELECT {items} FROM {text}) {self.name()}", fresh))
        (left, ours), (right, theirs) = sides
        how = self.chance.choice(_JOINS)
        more = self.condition([*ours, *theirs], 1) if self.chance.random() < 0.4 else "true"
        shared = [k for _, k in ours if k in {t for _, t in theirs}]
        if shared:
            kind = self.chance.choice(shared)
            of = [self.chance.choice([n for n, k in side if k == kind]) for side in (ours, theirs)]
            more = f"{of[0]} = {of[1]} AND {more}"
        text = f"(SELECT * FROM {left} {how} {right} ON {more}) {self.name()}"
        return text, ours if how in _JOINS[-2:] else [*ours, *theirs]

    def value(self, columns: Columns, kind: str, depth: int) -> str:
        """An expression of text (s) or of a number (n)."""
        own = [name for name, k in columns if k == kind]
        if depth == 0 or self.chance.random() < 0.3:
            plain = self.chance.choice(_WORDS) if kind == "s" else str(self.chance.randint(0, 40))
            return self.chance.choice([*own, *own, plain]) if own else plain
        one, two = (self.value(columns, kind, depth - 1) for _ in range(2))
        if kind == "s":
            forms = (
                "upper({0})", "concat({0}, {1})", "coalesce({0}, {1})", "replace({0}, 'eu', '1')",
                "CASE WHEN {2} THEN {0} ELSE {1} END", "substring({0}, 1, 2)", "if({2}, {0}, {1})",
            )  # fmt: skip
        else:
            forms = (
                "({0} + {1})", "({0} - {1})", "1 / ({0} - 20)", "abs({0})", "coalesce({0}, {1})",
                "CAST(replace({3}, 'eu', '1') AS INT)", "length({3})", "({0} % 7)",
            )  # fmt: skip
        condition, text = self.condition(columns, depth - 1), self.value(columns, "s", depth - 1)
        return self.chance.choice(forms).format(one, two, condition, text)

    def condition(self, columns: Columns, depth: int) -> str:
        """A truth about a row."""
        kind = self.chance.choice("sn")
        one, two = self.value(columns, kind, depth), self.value(columns, kind, depth)
        forms = ["{0} = {1}", "{0} <> {1}", "{0} < {1}", "{0} IS NULL", "{0} IS NOT NULL", "{0} <=> {1}"]
        if kind == "s":
            forms += ["{0} LIKE '1%'", "{0} IN ('111', 'eu', {1})"]
        if depth:
            column, of = self.chance.choice([(n, k) for n, k in _TABLE])
            inner = self.value(columns, of, 0)
            forms += [
                f"EXISTS (SELECT 1 FROM @t q WHERE q.{column} = {inner})",
                f"{inner} IN (SELECT {column} FROM @t)",
                "({0} = {1} OR {2})", "({0} IS NOT NULL AND {2})",
            ]  # fmt: skip
        again = self.condition(columns, depth - 1) if depth else "true"
        return self.chance.choice(forms).format(one, two, again)

    def query(self, depth: int) -> tuple[str, Columns]:
        """A SELECT and its columns."""
        source, columns = self.relation(depth)
        where = f" WHERE {self.condition(columns, 2)}" if self.chance.random() < 0.6 else ""
        kinds = [self.chance.choice("sn") for _ in range(self.chance.randint(1, 3))]
        items = [(self.value(columns, kind, 2), self.name(), kind) for kind in kinds]
        shape = self.chance.choice(("plain", "plain", "distinct", "grouped", "window"))
        if shape == "grouped":
            of = self.value(columns, "n", 1)
            name = self.name()
            keys = ", ".join(str(number + 1) for number in range(len(items)))
            told = ", ".join(f"{text} AS {called}" for text, called, _ in items)
            total = self.chance.choice(("count(*)", f"max({of})", f"sum({of})", f"count(DISTINCT {of})"))
            text = f"SELECT {told}, {total} AS {name} FROM {source}{where} GROUP BY {keys}"
            return text, [*((called, kind) for _, called, kind in items), (name, "n")]
        told = ", ".join(f"{text} AS {called}" for text, called, _ in items)
        columns = [(called, kind) for _, called, kind in items]
        if shape == "window":
            of, name = self.chance.choice(columns)[0], self.name()
            text = f"SELECT *, max({of}) OVER (PARTITION BY {columns[0][0]}) AS {name}"
            kind = dict(columns)[of]
            return f"{text} FROM (SELECT {told} FROM {source}{where})", [*columns, (name, kind)]
        return f"SELECT {'DISTINCT ' if shape == 'distinct' else ''}{told} FROM {source}{where}", columns


def random_query(seed: int) -> str:
    """A query; see above."""
    return _Maker(random.Random(seed)).query(2)[0]  # noqa: S311  a seed is to give the same again
