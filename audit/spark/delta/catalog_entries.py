"""The entries of the session catalog: tables, views, schemas and functions, without a look into their files.

In: names and locations. Out: `Table`, `View` and the facts of `CatalogStore.java`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.errors import AnalysisException

from audit.core.errors import FilesNotMovedError
from audit.spark import sessions
from audit.spark.delta.delta_java import InSession
from audit.spark.delta.values import Table, View, is_path
from lineage.names import SESSION_CATALOG, sql_name

_FULL = 3  # catalog, schema, name


class CatalogEntries(InSession):
    """Entries of the session catalog, as a session sees them."""

    @property
    def current(self) -> tuple[str, str]:
        """The current catalog and schema."""
        return sessions.current_schema(self.spark)

    def find(self, parts: Sequence[str]) -> Table | View | None:
        """What a name means in this session; None for nothing, or what another catalog has.

        Spark's rule of names decides, as for `SessionCatalog.look_up` and `EnforcementRule.describe`. Those
        have Spark resolve the name, which reads the table's log and schema. This gives the catalog's entry
        alone: for tables that Spark cannot read, and in one call of the metastore.
        """
        # Delta's catalog (4.4) takes a path for a name of the schema `delta` (SupportsPathIdentifier).
        # Readers of DataFrames and VACUUM take one in any catalog, so `delta` alone stands for a path here.
        local = parts[1:] if len(parts) == _FULL and parts[0].lower() == SESSION_CATALOG else parts
        if is_path(local):
            # A link, or a path with dots, leads to a table that is kept as any other.
            real = str(self._java.catalog.real(self._session, local[1]))
            return Table(("delta", local[1]), real, "delta", managed=False)
        try:
            found = json.loads(self._java.catalog.table(self._session, sql_name(parts)))
        except AnalysisException as error:
            # Spark 4.2 resolves no name with zero or several schemas in the session catalog; nothing has it.
            if error.getCondition() != "REQUIRES_SINGLE_PART_NAMESPACE":
                raise
            return None
        return None if found is None else self.entry(found)

    def registered(self, location: str) -> Table | None:
        """The table of the session catalog that lies at a location; all schemas are looked through."""
        # A metastore finds tables by name only, so the entries of each schema are compared.
        found = json.loads(self._java.catalog.at(self._session, location))
        entry = None if found is None else self.entry(found)
        return entry if isinstance(entry, Table) else None

    def tables(self, schema: str, *, columns: bool = False) -> list[Table | View]:
        """All tables and views of a schema of the session catalog.

        Args:
            schema: its name.
            columns: also note the columns that the catalog keeps, as the JSON of a schema: `schema_json`.
        """
        ask = self._java.catalog.tablesWithColumns if columns else self._java.catalog.tables
        found = json.loads(ask(self._session, schema))
        return [entry for one in found if (entry := self.entry(one)) is not None]

    def entry(self, found: Mapping[str, Any]) -> Table | View | None:
        """The table or view of facts by the names of `CatalogStore.java`; None for a view without a text."""
        temporary, schema = bool(found["temporary"]), found["schema"]
        # Of temporary views the global ones alone have a schema, `global_temp`.
        full = (schema, found["name"]) if schema else (found["name"],)
        name = full if temporary else (SESSION_CATALOG, *full)
        if found["kind"] != "VIEW":
            managed, provider = found["kind"] == "MANAGED", str(found["provider"] or "hive").lower()
            return Table(name, found["location"], provider, managed=managed, facts=found)
        if found["view_text"] is None:
            return None
        catalog, *namespace = found["view_current"] or self.current
        return View(
            name, found["view_text"], (catalog, ".".join(namespace)), temporary=temporary, facts=found
        )

    def schema_facts(self, name: str) -> dict[str, Any] | None:
        """Name, comment, location and properties of a schema; None where there is none."""
        found: dict[str, Any] | None = json.loads(self._java.catalog.schema(self._session, name))
        return found

    def set_schema_property(self, name: str, key: str, value: str) -> None:
        """Set a property of a schema, wherever it lies."""
        self._java.catalog.setSchemaProperty(self._session, name, key, value)

    @property
    def leaves_folders(self) -> bool:
        """Whether the catalog can drop a schema and leave its folder: Hive's and Spark's own can."""
        return bool(self._java.catalog.leavesFolders(self._session))

    def drop_schema(self, name: str) -> None:
        """Drop a schema with all that is in it, and leave each file where it is."""
        self._java.catalog.dropSchema(self._session, name)

    def drop(self, table: Table) -> None:
        """Drop a table of the session catalog as Spark does; a managed table loses its files."""
        self._java.catalog.drop(self._session, table.name[-2], table.name[-1])

    def refresh(self, name: Sequence[str]) -> None:
        """Let go of the relation of a table that Spark caches: a commit came past the catalog."""
        self._session.catalog().refreshTable(sql_name(name))

    def schemas(self) -> list[str]:
        """The names of all schemas of the session catalog."""
        found: list[str] = json.loads(self._java.catalog.schemas(self._session))
        return found

    def functions(self, schema: str) -> list[dict[str, Any]]:
        """The functions of a schema, with the facts to register them again."""
        found: list[dict[str, Any]] = json.loads(self._java.catalog.functions(self._session, schema))
        return found

    def function(self, name: Sequence[str]) -> dict[str, Any] | None:
        """A function by its full name, with the facts to register it again; None for none."""
        # To list the functions of a schema that does not exist is an error of Spark's catalog.
        if self.schema_facts(name[-2]) is None:
            return None
        found = (one for one in self.functions(name[-2]) if one["name"].lower() == name[-1].lower())
        return next(found, None)

    def restore_function(self, schema: str, facts: Mapping[str, Any]) -> None:
        """Register a function as `functions` has found it."""
        self._java.catalog.restoreFunction(
            self._session, schema, facts["name"], facts["class_name"], "\n".join(facts["resources"])
        )

    def rename(self, location: str, new: str) -> None:
        """Move the folder of a table, in one step.

        Raises:
            FilesNotMovedError: the store has not done it.
        """
        if not self._java.catalog.rename(self._session, location, new):
            raise FilesNotMovedError(
                f"{location} could not be renamed to {new}",
                "check that both can be written on that store, and run the statement again",
            )

    def make_external(self, table: Table, location: str | None = None) -> None:
        """Make a table external: a DROP leaves its files.

        Args:
            table: of the session catalog.
            location: a new location of its files; None keeps the present one.
        """
        self._java.catalog.makeExternal(self._session, table.name[-2], table.name[-1], location)
