"""A catalog over a catalog: what a script makes on its way.

In: statements with their results, in order. Out: a `Catalog` that answers as after them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from lineage.catalog import Catalog, governed, schema_exists
from lineage.column_types import types_of
from lineage.errors import BadFunctionError
from lineage.functions import read_function
from lineage.governance import Governance
from lineage.grant_commands import GRANTS
from lineage.memory import MemoryCatalog
from lineage.model import Access, Attachment, Column, Domain, Function, ObjectDdl, Relation
from lineage.names import qualify, quote_name, split_name, stable_id
from lineage.statement import Statement
from lineage.targets import parts_of


class Overlay:
    """Tables, views and the current schema that earlier statements left behind."""

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
        found = self._temporary.get(".".join(parts).lower())
        if found is not None:
            return found
        here = current or self._current
        key = _key(qualify(parts, here))
        if key in self._known:
            return self._known[key]
        return self._below.relation(parts, here)

    def path(self, provider: str, location: str) -> Relation:
        """As below."""
        return self._below.path(provider, location)

    def function(self, parts: Sequence[str], current: tuple[str, str] | None = None) -> Function | None:
        """What a name means after the statements so far."""
        here = current or self._current
        found = self._functions.get(_key(parts)) if len(parts) == 1 else None
        found = found or self._functions.get(_key(qualify(parts, here)))
        return found or self._below.function(parts, here)

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

    def follow(self, statement: Statement, access: Access) -> None:
        """Take over what a statement changed."""
        command, tree = statement.command, statement.tree
        if command is not None and command.kind in GRANTS:
            return  # who may do what changes nothing that is traced
        if command is not None:
            on = self.relation(command.on) if command.on else None
            self._governance.follow(command, self._current, on)
        if command is not None and command.kind == "USE" and command.target:
            self._use(command.target, catalog=bool(command.source))
        elif command is not None and command.kind == "DECLARE":
            self.variables |= {name[-1].lower() for name in (command.target,) if name}
        elif isinstance(tree, exp.Create) and tree.args["kind"].upper() == "VIEW":
            self._view(statement, tree, access)
        elif isinstance(tree, exp.Create) and tree.args["kind"].upper() == "FUNCTION":
            self._function(statement, tree)
        elif access.also:
            self._swap(access)
        else:
            self._ddl(access, types_of(statement, access, self))
        made = access.object_modified_by_ddl
        if statement.changes and made is not None:
            self._governance.protect(made.name, statement.changes, self._current)

    def _function(self, statement: Statement, tree: exp.Create) -> None:
        try:
            function = read_function(statement.text)
        except BadFunctionError:
            return  # an aggregate or a class of Hive's: Spark alone knows it
        parts = parts_of(tree.args["this"])
        full = parts if statement.temporary else qualify(parts, self._current)
        self._functions[_key(full)] = replace(function, name=quote_name(full), object_id=stable_id(*full))

    def _schema(self, ddl: ObjectDdl) -> None:
        new_name = ddl.properties.get("objectName", {}).get("value")
        self._schemas[_key(split_name(ddl.name))] = ddl.operation_type != "DROP" and new_name is None
        if new_name is not None:
            self._schemas[_key(split_name(new_name))] = True

    def _swap(self, access: Access) -> None:
        names = [ddl.name for a in (access, *access.also) if (ddl := a.object_modified_by_ddl) is not None]
        self._governance.renamed(dict(zip(names, reversed(names), strict=True)))
        found = [self.relation(split_name(name)) for name in names]
        for name, other in zip(names, reversed(found), strict=True):
            self._known[_key(split_name(name))] = None if other is None else replace(other, name=name)

    def _use(self, parts: tuple[str, ...], *, catalog: bool) -> None:
        if catalog:
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
            parts = ("global_temp", parts[-1])
        full = parts if statement.temporary else qualify(parts, self._current)
        schema = tree.args["this"]
        names = [c.name for c in schema.expressions] if isinstance(schema, exp.Schema) else []
        names = names or [c.name for c in access.columns]
        name, types = quote_name(full), types_of(statement, access, self)
        relation = Relation(
            name,
            Domain.VIEW,
            stable_id(*full),
            tuple(Column(n, types.get(n.lower(), ""), stable_id(name, n)) for n in names),
            view_text=query.sql("spark"),
            view_current=self._current,
            temporary=statement.temporary,
        )
        if statement.temporary:
            self._temporary[".".join(parts).lower()] = relation
        elif access.object_modified_by_ddl is not None:
            self._governance.made(name)
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
            columns = _changed(columns, Column(name, types.get(name.lower(), "")), change, ddl.name)
            if isinstance(change.get("objectName"), dict):
                self._governance.renamed_column(ddl.name, name, change["objectName"]["value"])
        relation = before or Relation(ddl.name, ddl.domain, stable_id(*key))
        relation = replace(relation, columns=tuple(columns))
        new_name = ddl.properties.get("objectName", {}).get("value")
        if ddl.operation_type != "ALTER":
            self._make(ddl)
        if new_name:
            self._governance.renamed({ddl.name: new_name})
            self._known[key] = None
            relation = replace(relation, name=new_name)
            key = _key(split_name(new_name))
        self._known[key] = relation

    def _make(self, ddl: ObjectDdl) -> None:
        self._governance.made(ddl.name)
        if ddl.properties.get("creationMode", {}).get("value") == "CLONE":
            source = self.relation(split_name(ddl.properties["creationSource"]["objectName"]))
            if source is not None:
                self._governance.cloned(source, ddl.name)


def _governance_of(catalog: Catalog) -> Governance:
    if isinstance(catalog, MemoryCatalog):
        return catalog.governance
    return Governance(governed(catalog))


def _changed(columns: list[Column], column: Column, change: dict[str, object], table: str) -> list[Column]:
    key, operation = column.name.lower(), change.get("subOperationType")
    if operation == "ADD":
        return [*columns, replace(column, column_id=stable_id(table, column.name))]
    if operation == "DROP":
        return [c for c in columns if c.name.lower() != key]
    new = change.get("objectName")
    if isinstance(new, dict):
        return [replace(c, name=new["value"]) if c.name.lower() == key else c for c in columns]
    return columns


def _key(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple([part.lower() for part in parts])
