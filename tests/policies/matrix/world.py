"""A world with protected objects, and what is asked of each way: nothing is shown, and nothing is lost.

Every masked value and every hidden row has SECRET in it, so that one look tells a leak.
"""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

import audit

SECRET = "S3CR3T"  # noqa: S105 - it is in the values that nobody may see
KINDS = ("masked", "filtered", "mapped", "tagged", "viewed")
_ROWS = {
    "masked": f"(1, '{SECRET}-1', 'eu'), (2, '{SECRET}-2', 'us'), (3, '{SECRET}-3', 'us')",
    "tagged": f"(1, '{SECRET}-1', 'eu'), (2, '{SECRET}-2', 'us')",
    "filtered": f"(1, 'open', 'eu'), (2, '{SECRET}-2', '{SECRET}-us')",
    "mapped": f"(1, 'open', 'eu'), (2, '{SECRET}-2', 'us')",
    "below": f"(1, '{SECRET}-1', 'eu'), (2, '{SECRET}-2', 'us')",
}
# The history of one holds a secret value in a condition and in its changes, a partition of another is one.
_CLAUSES = {
    "masked": "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
    "filtered": "PARTITIONED BY (region)",
}
_HIDES_ROWS = ("filtered", "mapped")
_POLICIES = {
    "masked": "ALTER TABLE prot.masked ALTER COLUMN name SET MASKING POLICY prot.hush",
    "filtered": "ALTER TABLE prot.filtered ADD ROW ACCESS POLICY prot.near ON (region)",
    "mapped": "ALTER TABLE prot.mapped ADD ROW ACCESS POLICY prot.by_map ON (region)",
    "tagged": "ALTER TABLE prot.tagged ALTER COLUMN name SET TAG prot.pii = 'high'",
}


class World:
    """Protected objects of schema `prot`, and a user's own of schema `play`.

    Attributes:
        session: of ann, who administers and has role HR.
        name: the object that is tried now.
        out: a folder that is free for files.
    """

    def __init__(self, session: Any, folder: Path) -> None:
        self.session, self._folder, self._numbers = session, folder, iter(range(1_000_000))
        run = session.sql
        run("CREATE SCHEMA prot")
        run("CREATE SCHEMA play")
        run("CREATE ROLE hr")
        run("GRANT ROLE hr TO USER ann")
        seen = "is_role_in_session('HR')"
        run(
            "CREATE MASKING POLICY prot.hush AS (v STRING) RETURNS STRING ->"
            f" CASE WHEN {seen} THEN v ELSE '***' END"
        )
        run(f"CREATE ROW ACCESS POLICY prot.near AS (r STRING) RETURNS BOOLEAN -> {seen} OR r = 'eu'")
        run("CREATE TABLE prot.map (area STRING)")
        run("INSERT INTO prot.map VALUES ('eu')")
        run("CREATE VIEW prot.areas AS SELECT area FROM prot.map")
        run(
            f"CREATE ROW ACCESS POLICY prot.by_map AS (r STRING) RETURNS BOOLEAN ->"
            f" {seen} OR EXISTS (SELECT 1 FROM areas WHERE area = r)"
        )
        run("CREATE TAG prot.pii ALLOWED_VALUES 'high'")
        run("ALTER TAG prot.pii SET MASKING POLICY prot.hush")
        self._places: dict[str, Path] = {}
        self._looked_at: dict[str, tuple[str, ...]] = {}
        self._view_text = ""
        self._before: dict[str, dict[str, bytes]] = {}
        for kind in _ROWS:
            self._make(kind)
        self._make_view()
        self.own_name = "play.own"
        self.kind = "masked"
        self.renew()

    def _make_view(self) -> None:
        run = self.session.sql
        with contextlib.suppress(PySparkException):
            run("DROP TABLE IF EXISTS prot.viewed")  # what a way has put in the place of the view
        run("CREATE OR REPLACE VIEW prot.viewed AS SELECT * FROM prot.below")
        run("ALTER VIEW prot.viewed ALTER COLUMN name SET MASKING POLICY prot.hush FORCE")
        self._view_text = self._text_of_view()

    def _text_of_view(self) -> str:
        catalog = self.session._jsparkSession.sessionState().catalog()
        found = catalog.listTables("prot", "viewed")
        text = None if found.isEmpty() else catalog.getTableMetadata(found.head()).viewText()
        return str(text.get()) if text is not None and text.isDefined() else ""

    def _make(self, kind: str) -> None:
        run = self.session.sql
        run(
            f"CREATE TABLE prot.{kind} {_CLAUSES.get(kind, '')}"
            f" AS SELECT * FROM VALUES {_ROWS[kind]} AS v(id, name, region)"
        )
        if kind == "masked":
            run(f"DELETE FROM prot.masked WHERE name = '{SECRET}-3'")
        if kind in _POLICIES:
            run(_POLICIES[kind])
        place = run(f"DESCRIBE DETAIL prot.{kind}").first().location
        self._places[kind] = Path(place.removeprefix("file:"))
        self._before[kind] = _contents(self._places[kind])

    def renew(self) -> None:
        """Makes the user's own table anew."""
        with audit.as_user(self.session, "mallory"):
            self.session.sql("DROP TABLE IF EXISTS play.own")
            self.session.sql(
                "CREATE TABLE play.own AS SELECT * FROM VALUES (1, 'mine', 'eu') AS v(id, name, region)"
            )

    def has_own(self) -> bool:
        """Whether the user's own table is there."""
        # Not by `listTables`: Spark 4.2 makes no objects of its rows where it generates no code.
        return "own" in self._tables("play")

    def _tables(self, schema: str) -> list[str]:
        catalog = self.session._jsparkSession.sessionState().catalog()
        every = catalog.listTables(schema).mkString("|").replace("`", "").split("|")
        return [one.rpartition(".")[2] for one in every if f".{schema}." in one]

    # -- what a way works on ---------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The protected object."""
        return f"prot.{self.kind}"

    @property
    def place(self) -> str:
        """Its folder; of a view that of a masked table."""
        return str(self._places["masked" if self.kind == "viewed" else self.kind])

    @property
    def above(self) -> str:
        """The folder that its folder lies in."""
        return str(Path(self.place).parent)

    @property
    def frame(self) -> DataFrame:
        """The protected object as a DataFrame."""
        return self.session.table(self.name)

    @property
    def own(self) -> DataFrame:
        """A table of the user's."""
        return self.session.table(self.own_name)

    @property
    def new(self) -> str:
        """A name that is free."""
        return f"play.n{next(self._numbers)}"

    @property
    def out(self) -> str:
        """A folder for files, which are looked at afterwards."""
        return str(self._folder / "out")

    def free_folder(self) -> str:
        """A folder that is not there."""
        return str(self._folder / f"free{next(self._numbers)}")

    def filled(self, text: str) -> str:
        """A statement about the protected object."""
        bare = self.name.rpartition(".")[2]
        return text.format(
            t=self.name,
            bare=bare,
            schema=f"s{next(self._numbers)}",
            place=self.place,
            above=self.above,
            own=self.own_name,
            new=self.new,
            out=self.out,
        )

    # -- a way, and what has come of it -----------------------------------------------------------

    def try_way(self, way: Callable[[Any], Any], user: str) -> list[str]:
        """What a user has come to by a way that they may not: leaks and losses, in words."""
        shown: list[str] = []
        with audit.as_user(self.session, user):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                shown.append(_shown(lambda: way(self)))
            shown.append(printed.getvalue())
        found = [f"shown: {_about(one)}" for one in shown if SECRET in one]
        found += self._left_behind(user)
        return [*found, *self._lost(user)]

    def _left_behind(self, user: str) -> Iterator[str]:
        """Secrets in what the way has made."""
        for name in self._tables("play"):
            commits = self._commits(name)
            if self._looked_at.get(name) == commits or not name.startswith(("n", "own")):
                continue
            self._looked_at[name] = commits
            with audit.as_user(self.session, user):
                text = _shown(lambda name=name: self.session.table(f"play.{name}"))
            if SECRET in text:
                yield f"play.{name} holds {_about(text)}"
        for file in Path(self._folder).rglob("*"):
            if file.is_file() and SECRET.encode() in file.read_bytes() and "_delta_log" not in str(file):
                yield f"{file} holds a secret"

    def _commits(self, name: str) -> tuple[str, ...]:
        """What tells whether a table of the user's has changed."""
        catalog = self.session._jsparkSession.sessionState().catalog()
        location = catalog.getTableMetadata(catalog.listTables("play", name).head()).storage().locationUri()
        place = Path(location.get().getPath()) if location.isDefined() else self._folder
        return (str(place), *sorted(one.name for one in place.glob("_delta_log/*.json")))

    def clean_up(self) -> None:
        """Takes away what a way has made."""
        run = self.session.sql
        for name in self._tables("play"):
            if name != "own":
                with contextlib.suppress(PySparkException):
                    run(f"DROP TABLE play.{name}")
                with contextlib.suppress(PySparkException):
                    run(f"DROP VIEW play.{name}")
        for view in ("tempo", "cached"):
            self.session.catalog.dropTempView(view)
        self.session.catalog.dropGlobalTempView("tempo")
        run("USE default")
        for one in self._folder.iterdir():
            shutil.rmtree(one, ignore_errors=True)

    def _lost(self, user: str) -> Iterator[str]:
        """What the way has taken away or laid open; it is made anew."""
        for kind, place in self._places.items():
            if not self._is_named(kind) and not self._brought_back(kind):
                yield f"{kind} is dropped, and cannot be brought back"
            elif _contents(place) == self._before[kind]:
                continue
            # A user may change what they see, a masked row as well: what is hidden stays as it is.
            text = f"SELECT * FROM delta.`{place}`"
            real = _shown(lambda text=text: self.session.sql(text))
            if kind in _HIDES_ROWS and f"{SECRET}-2" not in real:
                yield f"{kind} has lost its hidden row: {_about(real)}"
            # What a masked view shows is a value of another object: who writes it into a table that they may
            # change loses nothing of that table's own mask.
            if "***" in real and self.kind != "viewed":
                yield f"{kind} has lost a masked value: {_about(real)}"
            with audit.as_user(self.session, user):
                seen = _shown(lambda text=text: self.session.sql(text))
            if kind != "below" and SECRET in seen:
                yield f"{kind} lies open: {_about(seen)}"
            with contextlib.suppress(PySparkException, audit.errors.AuditError):
                self.session.sql(f"DROP TABLE IF EXISTS prot.{kind}")
            self._make(kind)
            break
        if self._text_of_view() != self._view_text:
            self._make_view()

    def _brought_back(self, kind: str) -> bool:
        self.session.sql("USE prot")
        try:
            self.session.sql(f"UNDROP TABLE {kind}")
        except audit.errors.AuditError:
            return False
        finally:
            self.session.sql("USE default")
        return True

    def _is_named(self, kind: str) -> bool:
        catalog = self.session._jsparkSession.sessionState().catalog()
        return bool(catalog.listTables("prot", kind).nonEmpty())


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def _about(text: str) -> str:
    at = text.find(SECRET)
    return text[max(0, at - 60) : at + 60]


def _shown(call: Callable[[], Any]) -> str:
    """All that a call shows: rows, another result, or its error."""
    try:
        result = call()
        if isinstance(result, DataFrame):
            result = (result.collect(), result.schema)
        return str(result)
    except Exception as error:  # noqa: BLE001 - whatever a way raises, it may show no secret
        return _without_own_words(str(error))


def _without_own_words(text: str) -> str:
    """A text of the user's own stands in an error: what they have asked for is no leak."""
    for own in (f"'{SECRET}-1'", f"'{SECRET}%'", f"'{SECRET}-us'", f"(region,{SECRET}-us)"):
        text = text.replace(own, "")
    return text
