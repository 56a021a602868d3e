"""Random scripts, and statements whose results are the same in each run: for tests that run them.

In: a seed. Out: the text of a statement, or of a script of several: variables, branches, loops over rows and
a counter, EXECUTE IMMEDIATE. What a branch or a loop asks is a number of rows, never a value: it runs alike
whatever the values of the tables are.
"""

from __future__ import annotations

from lineage.names import sql_text

from .random_statements import INTS, Writer


class SteadyWriter(Writer):
    """Writes what has one result alone: no row that happens to come first."""

    AGGREGATES = ("max", "min", "sum", "count")
    WINDOWS = ("max", "min", "sum", "count")

    def change(self) -> str:
        """A statement that changes a table."""
        return self.pick(
            self.merge, self.merge, self.update, self.update, self.delete, self.insert, self.insert,
            self.multi_insert, self.create,
        )()  # fmt: skip

    def script(self) -> str:
        """BEGIN … END over one to three parts."""
        parts = [self.part(number) for number in range(self.dice.randint(1, 3))]
        return f"BEGIN DECLARE n INT DEFAULT {self.dice.randrange(3)}; {' '.join(parts)} END"

    def part(self, number: int) -> str:
        """One statement, or some inside a branch or a loop."""
        return self.pick(self.plain, self.branch, self.loop, self.rows, self.immediate)(number)

    def inner(self) -> str:
        """A statement inside a script; flags of the one before are of no matter."""
        self.calls = self.correlated = True
        return self.pick(self.update, self.insert, self.insert, self.delete)()

    def plain(self, _number: int) -> str:
        """A statement, and an assignment."""
        return f"{self.inner()}; SET n = n + 1;"

    def branch(self, _number: int) -> str:
        """IF … ELSE …, or CASE."""
        asked = f"(SELECT count(*) FROM {self.pick('cust', 'region')}) > {self.pick(0, 100)}"
        if self.chance(2):
            return f"IF {asked} THEN {self.inner()}; ELSE {self.inner()}; END IF;"
        return f"CASE WHEN {asked} THEN {self.inner()}; ELSE {self.inner()}; END CASE;"

    def loop(self, number: int) -> str:
        """WHILE over a counter."""
        return f"SET n = 0; at{number}: WHILE n < 2 DO {self.inner()}; SET n = n + 1; END WHILE at{number};"

    def rows(self, number: int) -> str:
        """FOR over a query's rows."""
        row, table = f"row{number}", self.pick("plain", "cust", "region")
        names = self.dice.sample(INTS[table], self.dice.randint(1, len(INTS[table])))
        self.calls = self.correlated = True
        given = [self.fresh("c") for _ in names]
        query = self.select(given)
        values = ", ".join(self.pick(f"{row}.{name}", f"{row}.{name} + n") for name in given)
        return f"FOR {row} AS {query} DO INSERT INTO {table} ({', '.join(names)}) VALUES ({values}); END FOR;"

    def immediate(self, _number: int) -> str:
        """EXECUTE IMMEDIATE of a literal."""
        return f"EXECUTE IMMEDIATE {sql_text(self.inner())};"


def changing_statement(seed: int) -> str:
    """The statement of a seed, the same in each run."""
    return SteadyWriter(seed).change()


def script(seed: int) -> str:
    """The script of a seed, the same in each run."""
    return SteadyWriter(seed).script()
