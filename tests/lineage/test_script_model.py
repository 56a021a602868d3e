"""Random scripts of DDL: what each name means afterwards, against a model of dictionaries."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lineage import MemoryCatalog, analyze_script

TABLES, COLUMNS = ("t", "u", "v"), ("a", "b", "c", "d")
START = {"t": ["a", "b"], "u": ["c"]}


class Model:
    """Tables with their columns, and the statements that made them so."""

    def __init__(self, draw):
        self.draw = draw
        self.tables = {name: list(columns) for name, columns in START.items()}
        self.dropped = {}
        self.statements = []

    def one_of(self, values):
        """One of some values."""
        return self.draw(st.sampled_from(sorted(values)))

    def step(self):
        """One statement that Spark would accept."""
        kinds = [self.create]
        if self.tables:
            kinds += [self.drop, self.rename, self.add, self.fill, self.replace]
            kinds += [self.rename_column, self.drop_column, self.swap]
        if self.dropped.keys() - self.tables.keys():
            kinds.append(self.undrop)
        self.draw(st.sampled_from(kinds))()

    def say(self, text):
        """In any case: names are not case-sensitive."""
        self.statements.append(text.upper() if self.draw(st.booleans()) else text)

    def create(self):
        """CREATE TABLE, which does nothing to one that is there."""
        name, columns = (
            self.one_of(TABLES),
            self.draw(st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True)),
        )
        self.say(f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(f'{c} INT' for c in columns)})")
        self.tables.setdefault(name, columns)

    def replace(self):
        """CREATE OR REPLACE TABLE … AS SELECT, perhaps of itself."""
        name, source = self.one_of(TABLES), self.one_of(self.tables)
        self.say(f"CREATE OR REPLACE TABLE {name} USING delta AS SELECT * FROM {source}")
        self.tables[name] = list(self.tables[source])

    def fill(self):
        """INSERT changes no table's columns."""
        name = self.one_of(self.tables)
        self.say(f"INSERT INTO {name} SELECT * FROM {name}")

    def drop(self):
        """DROP TABLE; the table can be brought back."""
        name = self.one_of(self.tables)
        self.say(f"DROP TABLE {name}")
        self.dropped[name] = self.tables.pop(name)

    def undrop(self):
        """UNDROP TABLE of the last one of that name."""
        name = self.one_of(self.dropped.keys() - self.tables.keys())
        self.say(f"UNDROP TABLE {name}")
        self.tables[name] = self.dropped.pop(name)

    def rename(self):
        """ALTER TABLE … RENAME TO a name that is free."""
        old, free = self.one_of(self.tables), set(TABLES) - self.tables.keys()
        if free:
            new = self.one_of(free)
            self.say(f"ALTER TABLE {old} RENAME TO {new}")
            self.tables[new] = self.tables.pop(old)

    def swap(self):
        """ALTER TABLE … SWAP WITH another one."""
        one, two = self.one_of(self.tables), self.one_of(self.tables)
        if one != two:
            self.say(f"ALTER TABLE {one} SWAP WITH {two}")
            self.tables[one], self.tables[two] = self.tables[two], self.tables[one]

    def add(self):
        """ALTER TABLE … ADD COLUMN of a name that is free."""
        name = self.one_of(self.tables)
        free = set(COLUMNS) - set(self.tables[name])
        if free:
            column = self.one_of(free)
            self.say(f"ALTER TABLE {name} ADD COLUMN {column} INT")
            self.tables[name].append(column)

    def drop_column(self):
        """ALTER TABLE … DROP COLUMN, but for the last one."""
        name = self.one_of(self.tables)
        if len(self.tables[name]) > 1:
            column = self.one_of(self.tables[name])
            self.say(f"ALTER TABLE {name} DROP COLUMN {column}")
            self.tables[name].remove(column)

    def rename_column(self):
        """ALTER TABLE … RENAME COLUMN."""
        name = self.one_of(self.tables)
        free = set(COLUMNS) - set(self.tables[name])
        if free:
            old, new = self.one_of(self.tables[name]), self.one_of(free)
            self.say(f"ALTER TABLE {name} RENAME COLUMN {old} TO {new}")
            self.tables[name] = [new if c == old else c for c in self.tables[name]]


@st.composite
def scripts(draw):
    """The statements of a script, and the tables that are there afterwards."""
    model = Model(draw)
    for _ in range(draw(st.integers(0, 8))):
        model.step()
    return model.statements, model.tables


@settings(max_examples=40)
@given(scripts())
def test_a_name_means_what_the_statements_before_have_made_of_it(script):
    """The columns of every table, in order; a table that is gone is unknown."""
    statements, tables = script
    asked = [f"SELECT * FROM {name}" for name in TABLES]
    found = analyze_script(
        "; ".join(statements + asked),
        MemoryCatalog({f"s.{k}": v for k, v in START.items()}, current_schema="s"),
    )
    for access in found[: len(statements)]:
        assert access.analysis == "full", access.reason
    for name, access in zip(TABLES, found[len(statements) :], strict=True):
        if name in tables:
            assert [c.name.lower() for c in access.columns] == tables[name]
            assert access.analysis == "full"
        else:
            assert access.reason.startswith(f"unknown table {name}")
