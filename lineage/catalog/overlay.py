"""A catalog over another one, with the changes of earlier statements of a script.

In: statements with their results, in order. Out: a `Catalog` as it is after them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from lineage.catalog.column_types import types_of
from lineage.catalog.in_memory_catalog import MemoryCatalog
from lineage.catalog.in_memory_policies import InMemoryGovernance
from lineage.catalog.object_ids import object_id, with_ids
from lineage.catalog.protocol import Catalog, governed, schema_exists
from lineage.model import Access, Attachment, Column, Domain, Function, ObjectDdl, Relation
from lineage.names import qualify, quote_name, split_name
from lineage.sql.commands.command import Command
from lineage.sql.commands.governance.grant import GRANTS
from lineage.sql.function_definition import CreateFunction
from lineage.sql.statement import Statement
from lineage.sql.targets import parts_of
from lineage.sqlglot_log import spark_sql


class Overlay:
    """Tables, views and the current schema after earlier statements."""

    def __init__(self, below: Catalog) -> None:
        self._below = below
        self._current = below.current
        self._known: dict[tuple[str, ...], Relation | None] = {}
        self._temporary: dict[str, Relation | None] = {}
        self._dropped: dict[tuple[str, ...], Relation] = {}
        self._functions: dict[tuple[str, ...], Function] = {}
        self._governance = _governance_of(below)
        self._schemas: dict[tuple[str, ...], bool] = {}
        self.variables: frozenset[str] = frozenset()

    @property
    def current(self) -> tuple[str, str]:
        """The current catalog and schema."""
        return self._current

    def relation(self, parts: Sequence[str], current: tuple[str, str] | None = None) -> Relation | None:
        """What a name means after the statements so far."""
        name = ".".join(parts).lower()
        found = self._temporary.get(name)
        if found is not None:
            return found
        current_schema = current or self._current
        full = qualify(parts, current_schema)
        if _key(full) in self._known:
            return self._known[_key(full)]
        # By its full name, where a temporary view of the catalog below has been dropped.
        return self._below.relation(full if name in self._temporary else parts, current_schema)

    def path(self, provider: str, location: str) -> Relation:
        """As below."""
        return self._below.path(provider, location)

    def function(self, parts: Sequence[str], current: tuple[str, str] | None = None) -> Function | None:
        """What a name means after the statements so far."""
        current_schema = current or self._current
        found = self._functions.get(_key(parts)) if len(parts) == 1 else None
        found = found or self._functions.get(_key(qualify(parts, current_schema)))
        return found or self._below.function(parts, current_schema)

    def has_schema(self, parts: Sequence[str]) -> bool | None:
        """Whether a schema is there after the statements so far; None where the catalog cannot tell."""
        known = self._schemas.get(_key((self._current[0], *parts)[-2:]))
        return known if known is not None else schema_exists(self._below, parts)

    def policies(self, relation: Relation) -> Sequence[Attachment]:
        """The policies in force after the statements so far."""
        return self._governance.policies(relation)

    def governance_id(self, domain: Domain, name: str) -> int | None:
        """The id of a policy or tag after the statements so far."""
        return self._governance.governance_id(domain, name)

    def tagged(self, relation: Relation, column: str | None, tag: str) -> bool:
        """Whether a tag is set on an object, or on a column of it, by itself."""
        return self._governance.tagged(relation, column, tag)

    def apply(self, statement: Statement, access: Access) -> None:
        """Apply the changes of a statement."""
        command = statement.command
        if command is not None and command.kind in GRANTS:
            return  # privileges have no effect on lineage
        if command is not None:
            on = self.relation(command.on) if command.on else None
            self._governance.apply(command, self._current, on)
            self._apply_command(command)
        if not (self._apply_create(statement, access) or self._drop_temporary(statement)):
            if access.also:
                self._swap(access)
            else:
                self._ddl(access, types_of(statement, access, self))
        made = access.object_modified_by_ddl
        if statement.changes and made is not None:
            self._governance.protect(made.name, statement.changes, self._current)

    def _apply_command(self, command: Command) -> None:
        if command.kind == "USE" and command.target:
            self._use(command.target, catalog=bool(command.source))
        elif command.kind == "DECLARE" and command.target:
            self.variables |= {command.target[-1].lower()}

    def _drop_temporary(self, statement: Statement) -> bool:
        """Forget a temporary view; False where the statement drops none. Spark looks for one first."""
        tree = statement.tree
        if not isinstance(tree, exp.Drop) or tree.args["kind"].upper() != "VIEW":
            return False
        parts = parts_of((tree.args.get("tables") or [None])[0])
        dropped = self.relation(parts) if parts else None
        if dropped is None or not dropped.temporary:
            return False
        self._temporary[".".join(parts).lower()] = None
        return True

    def _apply_create(self, statement: Statement, access: Access) -> bool:
        """Take over a view or a function; False where the statement makes neither."""
        tree = statement.tree
        kind = tree.args["kind"].upper() if isinstance(tree, exp.Create) else ""
        if not isinstance(tree, exp.Create) or kind not in ("VIEW", "FUNCTION"):
            return False
        if kind == "VIEW":
            self._view(statement, tree, access)
        else:
            self._function(statement, tree)
        return True

    def _function(self, statement: Statement, tree: exp.Create) -> None:
        if not isinstance(statement.typed, CreateFunction):
            return  # an aggregate or a Hive class: its body is not SQL
        function = statement.typed.function
        parts = parts_of(tree.args["this"])
        full = parts if statement.temporary else qualify(parts, self._current)
        name = quote_name(full)
        identity = object_id(Domain.FUNCTION.value, name)
        self._functions[_key(full)] = replace(function, name=name, object_id=identity)

    def _schema(self, ddl: ObjectDdl) -> None:
        new_name = ddl.properties.get("objectName", {}).get("value")
        self._schemas[_key(split_name(ddl.name))] = ddl.operation_type != "DROP" and new_name is None
        if new_name is not None:
            self._schemas[_key(split_name(new_name))] = True

    def _swap(self, access: Access) -> None:
        names = [ddl.name for a in (access, *access.also) if (ddl := a.object_modified_by_ddl) is not None]
        self._governance.objects_renamed(dict(zip(names, reversed(names), strict=True)))
        found = [self.relation(split_name(name)) for name in names]
        for name, other in zip(names, reversed(found), strict=True):
            self._known[_key(split_name(name))] = None if other is None else replace(other, name=name)

    def _use(self, parts: tuple[str, ...], *, catalog: bool) -> None:
        if catalog:
            # USE CATALOG leads to the default namespace of the catalog, as CatalogManager does (Spark 4.2).
            self._current = (parts[0], "default")
        else:
            self._current = (self._current[0], parts[0]) if len(parts) == 1 else (parts[0], parts[1])

    def _view(self, statement: Statement, tree: exp.Create, access: Access) -> None:
        query = tree.args.get("expression")
        parts = parts_of(tree.args["this"])
        if query is None or not parts:
            return
        properties = tree.args.get("properties")
        if statement.temporary and properties is not None and properties.find(exp.GlobalProperty):
            # Spark keeps global temporary views in this schema; the CREATE names none.
            parts = ("global_temp", parts[-1])
        full = parts if statement.temporary else qualify(parts, self._current)
        schema = tree.args["this"]
        names = [c.name for c in schema.expressions] if isinstance(schema, exp.Schema) else []
        names = names or [c.name for c in access.columns]
        name, types = quote_name(full), types_of(statement, access, self)
        relation = Relation(
            name,
            Domain.VIEW,
            columns=tuple(Column(n, types.get(n.lower(), "")) for n in names),
            view_text=spark_sql(query),
            view_current=self._current,
            temporary=statement.temporary,
        )
        relation = with_ids(relation)
        if statement.temporary:
            self._temporary[".".join(parts).lower()] = relation
        elif access.object_modified_by_ddl is not None:
            self._governance.object_created(name)
            self._known[_key(full)] = relation

    def _ddl(self, access: Access, types: Mapping[str, str]) -> None:
        ddl = access.object_modified_by_ddl
        if ddl is not None and ddl.domain is Domain.SCHEMA:
            self._schema(ddl)
        elif ddl is not None and ddl.domain in (Domain.TABLE, Domain.VIEW):
            self._object(ddl, types)

    def _object(self, ddl: ObjectDdl, types: Mapping[str, str]) -> None:
        key = _key(split_name(ddl.name))
        if ddl.operation_type == "DROP":
            before = self.relation(split_name(ddl.name))
            if before is not None:
                self._dropped[key] = before
            self._known[key] = None
            return
        if ddl.operation_type == "UNDROP":
            if key in self._dropped:
                self._known[key] = self._dropped.pop(key)
            return
        before = self.relation(split_name(ddl.name)) if ddl.operation_type == "ALTER" else None
        columns = list(before.columns) if before is not None else []
        for name, change in ddl.properties.get("columns", {}).items():
            columns = _changed(columns, Column(name, types.get(name.lower(), "")), change)
            if isinstance(change.get("objectName"), dict):
                self._governance.column_renamed(ddl.name, name, change["objectName"]["value"])
        # `with_ids` keeps ids that are there: an ALTER changes none.
        relation = with_ids(replace(before or Relation(ddl.name, ddl.domain), columns=tuple(columns)))
        new_name = ddl.properties.get("objectName", {}).get("value")
        if ddl.operation_type != "ALTER":
            self._make(ddl)
        if new_name:
            self._governance.objects_renamed({ddl.name: new_name})
            self._known[key] = None
            relation = replace(relation, name=new_name)
            key = _key(split_name(new_name))
        self._known[key] = relation

    def _make(self, ddl: ObjectDdl) -> None:
        self._governance.object_created(ddl.name)
        if ddl.properties.get("creationMode", {}).get("value") == "CLONE":
            source = self.relation(split_name(ddl.properties["creationSource"]["objectName"]))
            if source is not None:
                self._governance.object_cloned(source, ddl.name)


def _governance_of(catalog: Catalog) -> InMemoryGovernance:
    if isinstance(catalog, MemoryCatalog):
        return catalog.governance
    return InMemoryGovernance(governed(catalog))


def _changed(columns: list[Column], column: Column, change: dict[str, object]) -> list[Column]:
    key, operation = column.name.lower(), change.get("subOperationType")
    if operation == "ADD":
        return [*columns, column]
    if operation == "DROP":
        return [c for c in columns if c.name.lower() != key]
    new = change.get("objectName")
    if isinstance(new, dict):
        return [replace(c, name=new["value"]) if c.name.lower() == key else c for c in columns]
    return columns


def _key(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple([part.lower() for part in parts])
