"""Random statements over a small world whose names collide: columns are called as tables and as aliases are.

In: a seed. Out: the text of a statement, nearly always one that Spark accepts. Every value is an INT, so that
any expression fits any column.
"""

from __future__ import annotations

import random

PAIR = "STRUCT<a: INT, b: INT>"
TABLES = {
    "orders": {"id": "INT", "cust": "INT", "region": "INT", "s": PAIR, "arr": f"ARRAY<{PAIR}>"},
    "cust": {"cust": "INT", "id": "INT", "orders": "INT", "m": "MAP<STRING, INT>"},
    "region": {"region": "INT", "code": "INT", "id": "INT", "s": PAIR},
    "plain": {"a": "INT", "b": "INT", "c": "INT", "d": "INT"},
}
VIEWS = {
    "seen": "SELECT id, cust + region AS both, s FROM orders WHERE cust > 1",
    "counted": "SELECT code, count(*) AS id, max(s.a) AS region FROM region GROUP BY code",
}
FUNCTIONS = {
    "first_of": "CREATE FUNCTION first_of(a INT, b INT) RETURNS INT RETURN a",
    "second_of": "CREATE FUNCTION second_of(a INT, b INT DEFAULT 7) RETURNS INT RETURN b",
    "looked_up": "CREATE FUNCTION looked_up(n INT, by INT DEFAULT 1) RETURNS INT"
    " RETURN n + (SELECT max(code) FROM region)",
    "rows_of": "CREATE FUNCTION rows_of(lo INT, hi INT DEFAULT 3) RETURNS TABLE (p INT, q INT)"
    " RETURN SELECT id, hi FROM region WHERE code > lo",
}
ALIASES = ("id", "cust", "s", "region", "orders", "x", "y", "a", "plain", "arr")
INTS = {name: [c for c, kind in columns.items() if kind == "INT"] for name, columns in TABLES.items()}
OF_VIEWS = {
    "seen": {"id": "INT", "both": "INT", "s": PAIR},
    "counted": dict.fromkeys(("code", "id", "region"), "INT"),
}
Scope = list[tuple[str, dict[str, str]]]
"""What a query selects from: the alias of each item and its columns with their kinds."""


class Writer:
    """Writes one statement; all that it draws comes from one seed."""

    AGGREGATES = ("max", "count", "sum", "first")
    WINDOWS = ("max", "min", "first_value", "lag")

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311  no secret
        self.made = 0
        self.bare = True  # whether names may stand without a qualifier
        self.calls = True  # Spark 4.2 takes SQL functions in queries alone
        self.lambdas = True  # and no lambda in what they get
        self.queries = True  # whether a query may stand in an expression
        self.correlated = True  # and name columns of the query around it: not in Delta's own statements (4.4)

    def pick(self, *items):
        """One of them."""
        return self.dice.choice(items)

    def chance(self, one_in: int) -> bool:
        """True once in so many draws."""
        return self.dice.randrange(one_in) == 0

    def fresh(self, stem: str) -> str:
        """A name that no one else has."""
        self.made += 1
        return f"{stem}{self.made}"

    # -- statements --------------------------------------------------------------------------------

    def statement(self) -> str:
        """Any statement."""
        return self.pick(
            self.merge, self.merge, self.merge, self.update, self.update, self.delete, self.insert,
            self.insert, self.multi_insert, self.create, self.any_query, self.any_query, self.any_query,
        )()  # fmt: skip

    def target(self) -> tuple[str, str, str]:
        """A table, how the statement names it, and what qualifies its columns."""
        table = self.pick(*TABLES)
        name = self.pick(table, table, f"rs.{table}", f"spark_catalog.rs.{table}")
        if self.chance(2):
            return table, name, ""
        return table, name, self.pick(*ALIASES)

    def merge(self) -> str:
        """MERGE with any of its clauses."""
        self.calls = self.correlated = False
        table, name, alias = self.target()
        own = alias or table
        evolves = self.chance(3)
        other = self.pick(*[a for a in ALIASES if a != own])
        columns, text = self.source(other)
        both: Scope = [(own, TABLES[table]), (other, columns)]
        clauses = [
            *self.clauses("WHEN MATCHED", both, lambda: self.matched(table, own, columns, both, evolves)),
            *self.clauses(
                f"WHEN NOT MATCHED{self.pick('', ' BY TARGET')}",
                both[1:],
                lambda: self.not_matched(table, columns, both[1:], evolves),
            ),
            *self.clauses(
                "WHEN NOT MATCHED BY SOURCE",
                both[:1],
                lambda: self.pick("DELETE", f"UPDATE SET {self.assignments(table, own, both[:1])}"),
            ),
        ] or ["WHEN MATCHED THEN DELETE"]
        head = f"MERGE {'WITH SCHEMA EVOLUTION ' if evolves else ''}INTO {name}"
        said = f" {self.pick('AS ', '')}{alias}" if alias else ""
        return f"{head}{said} USING {text}{self.on(both[:1], both[1:])} {' '.join(clauses)}"

    def clauses(self, when: str, scope: Scope, change) -> list[str]:
        """Some clauses of one kind; all but the last one have a condition."""
        number = self.dice.randrange(3)
        self.queries = False  # Delta takes none in the conditions of a MERGE (4.4)
        conditions = [f" AND {self.condition(scope)}" for _ in range(number)]
        self.queries = True
        if conditions and self.chance(2):
            conditions[-1] = ""
        return [f"{when}{condition} THEN {change()}" for condition in conditions]

    def fits(self, table: str, columns: dict[str, str], evolves) -> bool:
        """Whether `*` of a source may be written."""
        shared = [c for c in columns if TABLES[table].get(c, columns[c]) == columns[c]]
        return len(shared) == len(columns) and (evolves or set(TABLES[table]) <= set(columns))

    def matched(self, table, own, columns, both, evolves) -> str:
        """What a MATCHED clause does."""
        if self.fits(table, columns, evolves) and self.chance(2):
            return "UPDATE SET *"
        if self.chance(5):
            return "DELETE"
        return f"UPDATE SET {self.assignments(table, own, both)}"

    def not_matched(self, table, columns, alone, evolves) -> str:
        """What a NOT MATCHED clause does."""
        if self.fits(table, columns, evolves) and self.chance(2):
            return "INSERT *"
        names = self.dice.sample(INTS[table], self.dice.randint(1, len(INTS[table])))
        values = [
            self.pick(self.value(alone, 1), "DEFAULT") if self.chance(6) else self.value(alone, 1)
            for _ in names
        ]
        return f"INSERT ({', '.join(names)}) VALUES ({', '.join(values)})"

    def assignments(self, table, own, scope) -> str:
        """`a = 1, t.b = 2`: each column once, qualified or not."""
        found = []
        for column in self.dice.sample(INTS[table], self.dice.randint(1, len(INTS[table]))):
            place, value = self.pick(column, f"{own}.{column}"), self.value(scope, 1)
            if value.rpartition(".")[2].strip("()") == column:
                value = f"({value} + 1)"  # what a column has already is no change in Delta's plan
            found.append(f"{place} = {value}")
        if "s" in TABLES[table] and own != "s" and self.chance(4):
            found.append(f"{self.pick('', f'{own}.')}s.{self.pick('a', 'b')} = {self.value(scope, 1)} + 1")
        elif "s" in TABLES[table] and self.chance(3):
            place = self.pick("", f"{own}.")
            found.append(f"{place}s = named_struct('a', {self.value(scope, 1)}, 'b', {self.value(scope, 1)})")
        return ", ".join(found)

    def update(self) -> str:
        """UPDATE; of a struct also a field alone."""
        self.calls = self.correlated = False
        table, name, alias = self.target()
        own = alias or table
        scope: Scope = [(own, TABLES[table])]
        said = f" {self.pick('AS ', '')}{alias}" if alias else ""
        return f"UPDATE {name}{said} SET {self.assignments(table, own, scope)}{self.where(scope)}"

    def delete(self) -> str:
        """DELETE."""
        self.calls = self.correlated = False
        table, name, alias = self.target()
        scope: Scope = [(alias or table, TABLES[table])]
        return f"DELETE FROM {name}{' AS ' + alias if alias else ''}{self.where(scope)}"

    def where(self, scope: Scope) -> str:
        """The rows of an UPDATE or DELETE: Delta takes no query there (4.4)."""
        self.queries = False
        text = f" WHERE {self.condition(scope)}" if self.chance(2) else ""
        self.queries = True
        return text

    def insert(self) -> str:
        """INSERT in all forms."""
        table = self.pick("cust", "region", "plain", "plain")
        names = self.dice.sample(INTS[table], self.dice.randint(1, len(INTS[table])))
        shape = self.dice.randrange(5)
        if shape == 0:
            return f"INSERT {self.pick('INTO', 'OVERWRITE')} plain {self.query(4)}"
        if shape == 1:
            return f"INSERT INTO {table} BY NAME {self.query(len(names), names)}"
        if shape == 2:
            more = self.dice.randint(1, 2)
            named = [*INTS["plain"], *(self.fresh("more") for _ in range(more))]
            if self.chance(2):
                return f"INSERT WITH SCHEMA EVOLUTION INTO plain {self.query(4 + more, named)}"
            return f"INSERT WITH SCHEMA EVOLUTION INTO plain BY NAME {self.query(4 + more, named)}"
        if shape == 3:
            condition = self.condition([("", TABLES["plain"])], deep=False)
            return f"INSERT INTO plain REPLACE WHERE {condition} {self.query(4)}"
        return f"INSERT INTO {table} ({', '.join(names)}) {self.query(len(names))}"

    def multi_insert(self) -> str:
        """FROM … INSERT … INSERT …."""
        text, scope = self.from_clause()
        found = [f"FROM {text}"]
        for _ in range(self.dice.randint(1, 3)):
            table = self.pick("plain", "region", "cust")
            names = self.dice.sample(INTS[table], self.dice.randint(1, 3))
            values = ", ".join(self.value(scope, 1) for _ in names)
            where = f" WHERE {self.condition(scope)}" if self.chance(2) else ""
            found.append(f"INSERT INTO {table} ({', '.join(names)}) SELECT {values}{where}")
        return " ".join(found)

    def create(self) -> str:
        """CREATE TABLE AS SELECT."""
        names = [self.fresh("c") for _ in range(self.dice.randint(1, 4))]
        head = self.pick(
            "CREATE TABLE made", "CREATE TABLE IF NOT EXISTS made", "CREATE OR REPLACE TABLE made"
        )
        return f"{head} USING delta AS {self.query(len(names), names)}"

    def any_query(self) -> str:
        """A query of its own."""
        return self.query(self.dice.randint(1, 4))

    # -- queries -----------------------------------------------------------------------------------

    def query(self, width: int, names=None) -> str:
        """A query of so many columns, under these names."""
        names = list(names or (self.fresh("c") for _ in range(width)))
        shape = self.dice.randrange(12)
        if shape == 0:
            sides = [self.select(names), self.select(names)]
            return f" {self.pick('UNION ALL', 'UNION', 'EXCEPT', 'INTERSECT')} ".join(sides)
        if shape == 1:
            made = self.fresh("q")
            inner = {self.pick("id", "a", "cust"): "INT", "n": "INT"}
            body = self.select(list(inner))
            items = ", ".join(f"{self.value([(made, inner)], 1)} AS {n}" for n in names)
            return f"WITH {made} AS ({body}) SELECT {items} FROM {made}"
        if shape in (2, 3, 4):
            return self.piped(names)
        return self.select(names)

    def select(self, names) -> str:
        """A SELECT, grouped or not."""
        text, scope = self.from_clause()
        where = f" WHERE {self.condition(scope)}" if self.chance(3) else ""
        if self.chance(5):
            key = f"({self.leaf(scope)} + 0)"  # a number alone would be a place
            items = [f"{self.pick(*self.AGGREGATES)}({self.value(scope, 1)})" for _ in names]
            items[0] = self.pick(items[0], key)
            having = f" HAVING count({self.value(scope, 0)}) > 1" if self.chance(3) else ""
            listed = ", ".join(f"CAST({i} AS INT) AS {n}" for i, n in zip(items, names, strict=True))
            return f"SELECT {listed} FROM {text}{where} GROUP BY {key}{having}"
        items = [self.window(scope) if self.chance(9) else self.value(scope, 2) for _ in names]
        listed = ", ".join(f"{i} AS {n}" for i, n in zip(items, names, strict=True))
        return f"SELECT {self.pick('DISTINCT ', '', '', '', '')}{listed} FROM {text}{where}"

    def window(self, scope) -> str:
        """A window function."""
        call = self.pick(*self.WINDOWS)
        part, order = self.value(scope, 0), self.value(scope, 0)
        return f"{call}({self.value(scope, 0)}) OVER (PARTITION BY {part} ORDER BY {order})"

    def piped(self, names) -> str:
        """Pipe syntax; qualifiers of tables further back among it."""
        table = self.pick(*TABLES)
        alias = self.pick(table, self.pick(*ALIASES))
        found = [f"FROM {table}{'' if alias == table else ' AS ' + alias}"]
        scope: Scope = [(alias, TABLES[table])]
        found += [self.operator(scope) for _ in range(self.dice.randint(1, 4))]
        items = ", ".join(f"{self.value(scope, 1)} AS {n}" for n in names)
        return " |> ".join([*found, f"SELECT {items}"])

    def operator(self, scope: Scope) -> str:
        """One operator, which changes the scope."""
        shape = self.dice.randrange(6)
        if shape <= 1:
            made = self.fresh("e")
            text = f"EXTEND {self.value(scope, 1)} AS {made}"
            scope.append(("", {made: "INT"}))
            return text
        free = [a for a in (*ALIASES, "z1", "z2") if a not in [alias for alias, _ in scope]]
        if shape == 2:
            return f"WHERE {self.condition(scope)}"
        if shape == 3:
            other, alias = self.pick(*TABLES), self.pick(*free)
            added: Scope = [(alias, TABLES[other])]
            text = f"JOIN {other} AS {alias}{self.on(scope, added)}"
            scope += added
            return text
        if shape == 4:
            other, alias, made = self.pick(*TABLES), self.pick(*free), self.fresh("l")
            inner: Scope = [(other, TABLES[other])]
            value = f"coalesce({self.value(inner, 0)}, {self.value(scope, 0)})"
            middle = f"EXTEND 1 AS {self.fresh('o')} |> " if self.chance(2) else ""
            scope.append((alias, {made: "INT"}))
            return f"JOIN LATERAL (FROM {other} |> {middle}SELECT {value} AS {made}) AS {alias}"
        return f"ORDER BY ({self.value(scope, 0)} + 0)"  # a number alone would be a place

    def from_clause(self) -> tuple[str, Scope]:
        """Items joined in every way, generators among them."""
        aliases = self.dice.sample(ALIASES, 4)
        columns, text = self.source(aliases[0])
        scope: Scope = [(aliases[0], columns)]
        for alias in aliases[1 : 1 + self.dice.choice((0, 0, 1, 1, 2))]:
            shape = self.dice.randrange(8)
            if shape == 0:
                one, two = (
                    f"named_struct('k', {self.value(scope, 0)}, 'v', {self.value(scope, 0)})" for _ in "ab"
                )
                text += f" LATERAL VIEW inline(array({one}, {two})) {alias} AS k{alias}, v{alias}"
                scope.append((alias, {f"k{alias}": "INT", f"v{alias}": "INT"}))
                break  # no join behind a LATERAL VIEW
            if shape in (1, 2):
                one, two = self.leaf(scope), self.leaf(scope)
                given = self.pick("2", one, f"{one}, {two}", f"lo => {one}", f"hi => {two}, lo => {one}")
                text += f", LATERAL rows_of({given}) AS {alias}"
                scope.append((alias, {"p": "INT", "q": "INT"}))
                continue
            if shape == 3:
                arrays = [f"{a}.arr" for a, cs in scope if "arr" in cs]
                one, two, three = (self.value(scope, 0) for _ in "abc")
                made = f"array(struct({one} AS a, {two} AS b), struct(1 AS a, {three} AS b))"
                text += f", LATERAL explode({self.pick(*arrays, made)}) AS {alias}(el{alias})"
                scope.append((alias, {f"el{alias}": PAIR}))
                continue
            columns, right = self.source(alias)
            kind = self.pick("JOIN", "LEFT JOIN", "FULL JOIN", "CROSS JOIN", "SEMI JOIN", "ANTI JOIN")
            on = "" if kind == "CROSS JOIN" else self.on(scope, [(alias, columns)])
            text = f"{text} {kind} {right}{on}"
            if kind not in ("SEMI JOIN", "ANTI JOIN"):
                scope.append((alias, columns))
        return text, scope

    def on(self, left: Scope, right: Scope) -> str:
        """A condition of a join; a name that one side has alone is ambiguous where the other has it, too."""
        self.bare = False
        text = f" ON {self.leaf(left)} = {self.leaf(right)}"
        self.bare = True
        return text

    def source(self, alias: str) -> tuple[dict[str, str], str]:
        """An item of FROM under an alias."""
        shape = self.dice.randrange(6)
        if shape == 0:
            columns = {self.pick("id", "a"): "INT", self.pick("cust", "n"): "INT"}
            return columns, f"({self.query(len(columns), list(columns))}) AS {alias}"
        if shape == 1:
            view = self.pick(*VIEWS)
            return OF_VIEWS[view], f"{view} AS {alias}"
        table = self.pick(*TABLES)
        return TABLES[table], f"{table} AS {alias}"

    # -- values ------------------------------------------------------------------------------------

    def value(self, scope: Scope, depth: int) -> str:
        """An INT."""
        if depth == 0 or self.chance(3):
            return self.leaf(scope)
        if self.calls and self.chance(3):
            return self.call(scope, depth)
        one, two = self.value(scope, depth - 1), self.value(scope, depth - 1)
        three, four, five = (self.leaf(scope) for _ in "abc")
        if self.lambdas and self.chance(9):
            return f"transform(array({three}), el -> el + {self.leaf(scope)})[0]"
        if self.queries and self.chance(9):
            return f"(SELECT max({self.subquery_value(scope)}"
        return self.pick(
            f"({one} + {two})",
            f"coalesce({one}, {two})",
            f"CASE WHEN {one} > 1 THEN {two} ELSE {three} END",
            f"struct({four} AS a, {three} AS b).{self.pick('a', 'b')}",
            f"array(struct({four} AS f, {five} AS g), struct({three} AS f, 1 AS g))[0].{self.pick('f', 'g')}",
            f"array({one}, {two})[1]",
            f"map('k', {one}, 'l', {two})['k']",
        )

    def call(self, scope: Scope, depth: int) -> str:
        """A call of a SQL function, by place or by name; other calls may stand in its arguments."""
        lambdas, self.lambdas = self.lambdas, False
        used, other = self.value(scope, depth - 1), self.value(scope, depth - 1)
        self.lambdas = lambdas
        return self.pick(
            f"first_of({used}, {other})",
            f"first_of(b => {other}, a => {used})",
            f"second_of({other}, b => {used})",
            f"second_of({other})",
            f"looked_up(by => {other}, n => {used})",
        )

    def subquery_value(self, scope: Scope) -> str:
        """The rest of a scalar subquery, correlated or not."""
        table = self.pick(*TABLES)
        alias = self.pick(*[a for a in ("i1", "i2", *ALIASES) if a not in [name for name, _ in scope]])
        inner: Scope = [(alias, TABLES[table])]
        outer = self.beyond(scope, table, alias)
        where = (
            f" WHERE {self.leaf(inner)} = {self.outer_leaf(outer, table)}" if outer and self.chance(2) else ""
        )
        return f"{self.leaf(inner)}) FROM {table} AS {alias}{where})"

    def beyond(self, scope: Scope, table: str, alias: str) -> Scope:
        """What a query over a table may name of the query around it, by alias.

        An alias that is a column inside is that column (Spark 4.2), and so is a name without one.
        """
        hidden = {*TABLES[table], alias}
        return [(name, columns) for name, columns in scope if name and name not in hidden and self.correlated]

    def outer_leaf(self, scope: Scope, table: str) -> str:
        """A column of the query around; without an alias where the table inside has none of its names."""
        kept = self.bare
        self.bare = kept and not any(name in TABLES[table] for _, columns in scope for name in columns)
        text = self.leaf(scope)
        self.bare = kept
        return text

    def leaf(self, scope: Scope) -> str:
        """A column, a field, or a number."""
        if self.chance(12):
            return str(self.dice.randrange(9))
        alias, columns = self.pick(*scope)
        column = self.pick(*columns)
        kind = columns[column]
        once = sum(column in others for _, others in scope) == 1
        bare = not alias or (self.bare and once and self.chance(3))
        place = column if bare else f"{alias}.{column}"
        if kind == PAIR:
            return f"{place}.{self.pick('a', 'b')}"
        if kind.startswith("ARRAY"):
            return f"{place}[0].{self.pick('a', 'b')}"
        return f"{place}['k']" if kind.startswith("MAP") else place

    def condition(self, scope: Scope, *, deep: bool = True) -> str:
        """A predicate."""
        one = self.value(scope, 1 if deep else 0)
        # Delta takes no subquery in the conditions of a MERGE.
        if not deep or not self.queries or not self.correlated or not self.chance(5):
            return f"{one} > {self.leaf(scope)}"
        table = self.pick(*TABLES)
        inner: Scope = [("i3", TABLES[table])]
        outer = self.beyond(scope, table, "i3")
        if outer and self.chance(2):
            one = self.outer_leaf(outer, table)
            return f"EXISTS (SELECT 1 FROM {table} AS i3 WHERE {self.leaf(inner)} = {one})"
        return f"{one} IN (SELECT {self.leaf(inner)} FROM {table} AS i3)"


def statement(seed: int) -> str:
    """The statement of a seed, the same in each run."""
    return Writer(seed).statement()
