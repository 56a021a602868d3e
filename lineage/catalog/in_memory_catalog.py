"""A catalog in memory: plain dictionaries of tables, views and functions.

In: names with columns, view texts, functions, policies. Out: a `Catalog` that resolves names as Spark does.
For tests, for tools without a metastore, and for the tables that a script creates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lineage.catalog.in_memory_policies import InMemoryGovernance
from lineage.catalog.object_ids import object_id, with_ids
from lineage.errors import BadPolicyError
from lineage.model import Attachment, Column, Domain, Function, Policy, Relation
from lineage.names import SESSION_CATALOG, qualify, quote_name, split_name
from lineage.sql.commands.command import Command
from lineage.sql.function_definition import read_function


class MemoryCatalog:
    """Tables, views and functions by name; ids are a stable 63-bit hash of the full name.

    Args:
        tables: `"schema.table"` to columns (`{"column": "type"}`, or an iterable of names), or to
            a `Relation` with the ids that another catalog gave it, such as the one of a Spark session.
        views: `"schema.view"` to the SQL of the view; its columns are found when first asked for.
        functions: `"schema.function"` to a `Function`, or to the text of its CREATE FUNCTION.
        policies: `"schema.policy"` to a `Policy`, or to the text of its CREATE … POLICY.
        current_schema: the schema that one-part names live in, `"schema"` or `"catalog.schema"`.
        temp_views: name to the SQL of a temporary view.
        paths: location to the name of the registered table that lives there.
        attached: what the policies protect, in order, as DDL: `ALTER TABLE t ALTER COLUMN c SET MASKING
            POLICY m`, `ALTER TABLE t ADD ROW ACCESS POLICY r ON (c)`, `ALTER TAG g SET MASKING POLICY m`,
            `ALTER TABLE t SET TAG g = 'x'`; BigQuery's `CREATE ROW ACCESS POLICY r ON t FILTER USING (…)`;
            Databricks' `SET ROW FILTER f ON (c)` and `SET MASK f`, over `functions`.
        system: schemas whose tables and views are never recorded: the audit's own.

    Raises:
        BadNameError: a key is no name.
        BadFunctionError: the text of a function is no CREATE FUNCTION.
        BadPolicyError: the text of a policy or of an attachment is none.

    >>> catalog = MemoryCatalog(
    ...     {"s.t": {"ssn": "STRING"}},
    ...     policies={"s.m": "CREATE MASKING POLICY m AS (val STRING) RETURNS STRING -> '*'"},
    ...     attached=["ALTER TABLE s.t ALTER COLUMN ssn SET MASKING POLICY s.m"],
    ... )
    >>> [a.policy.name for a in catalog.policies(catalog.relation(("s", "t")))]
    ['spark_catalog.s.m']
    """

    def __init__(
        self,
        tables: Mapping[str, Relation | Mapping[str, str] | Iterable[str]] | None = None,
        views: Mapping[str, str] | None = None,
        functions: Mapping[str, Function | str] | None = None,
        policies: Mapping[str, Policy | str] | None = None,
        current_schema: str = "default",
        *,
        temp_views: Mapping[str, str] | None = None,
        paths: Mapping[str, str] | None = None,
        attached: Iterable[str] = (),
        system: Iterable[str] = (),
    ) -> None:
        parts = split_name(current_schema)
        self._current = (parts[0], parts[1]) if len(parts) > 1 else (SESSION_CATALOG, parts[0])
        self._relations: dict[tuple[str, ...], Relation] = {}
        self._open: set[tuple[str, ...]] = set()
        self._functions: dict[tuple[str, ...], Function] = {}
        # An object, not a number: the versions of two catalogs must differ (`VersionedCatalog`).
        self._version = object()
        self._governance = InMemoryGovernance()
        self._system = frozenset(_key(split_name(name)[-1:]) for name in system)
        for name, columns in (tables or {}).items():
            self.add_table(split_name(name), columns)
        for name, text in (views or {}).items():
            self.add_view(split_name(name), text)
        for name, text in (temp_views or {}).items():
            self.add_view(split_name(name), text, temporary=True)
        for name, function in (functions or {}).items():
            self.add_function(split_name(name), function)
        for name, policy in (policies or {}).items():
            self._governance.define(split_name(name), _policy(policy), self._current)
        for text in attached:
            command = _command(text)
            on = self.relation(command.on) if command.on else None
            self._governance.apply(command, self._current, on)
        self._paths = {p.rstrip("/"): n for p, n in (paths or {}).items()}

    @property
    def current(self) -> tuple[str, str]:
        """The current catalog and schema."""
        return self._current

    @property
    def version(self) -> object:
        """An object that changes with each change, and differs between catalogs."""
        return self._version

    def add_table(
        self, parts: Sequence[str], columns: Relation | Mapping[str, str] | Iterable[str]
    ) -> Relation:
        """Add or replace a table; returns its relation."""
        full = qualify(parts, self._current)
        if isinstance(columns, Relation):
            table = replace(columns, name=quote_name(full))
        else:
            typed = columns if isinstance(columns, Mapping) else dict.fromkeys(columns, "")
            table = Relation(quote_name(full), columns=tuple(Column(n, t) for n, t in typed.items()))
        relation = with_ids(replace(table, system=_key(full[1:2]) in self._system))
        self._relations[_key(full)] = relation
        self._version = object()
        return relation

    def add_view(
        self, parts: Sequence[str], text: str, *, temporary: bool = False, columns: Sequence[str] = ()
    ) -> None:
        """Add or replace a view; without `columns` they are those of its query."""
        self._version = object()
        full = tuple(parts) if temporary else qualify(parts, self._current)
        view = Relation(
            quote_name(full),
            Domain.VIEW,
            columns=tuple(Column(n) for n in columns),
            view_text=text,
            view_current=self._current,
            temporary=temporary,
            system=not temporary and _key(full[1:2]) in self._system,
        )
        self._relations[_key(full)] = with_ids(view)

    def add_function(self, parts: Sequence[str], function: Function | str) -> None:
        """Add or replace a function; its name is completed and its id filled in."""
        self._version = object()
        if isinstance(function, str):
            function = read_function(function)
        full = qualify(parts, self._current)
        name, identity = quote_name(full), function.object_id
        identity = identity if identity is not None else object_id(Domain.FUNCTION.value, name)
        self._functions[_key(full)] = replace(function, name=name, object_id=identity)

    def remove(self, parts: Sequence[str]) -> None:
        """Forget a table or view."""
        self._version = object()
        self._relations.pop(_key(parts), None)
        self._relations.pop(_key(qualify(parts, self._current)), None)

    def relation(self, parts: Sequence[str], current: tuple[str, str] | None = None) -> Relation | None:
        """The table or view that a name means; temp views first."""
        key = _key(parts)
        # A temporary view has one part; a global one is in the schema global_temp (Spark 4.2).
        found = self._relations.get(key) if len(key) == 1 or key[0] == "global_temp" else None
        if found is None:
            key = _key(qualify(parts, current or self._current))
            found = self._relations.get(key)
        if found is not None and found.view_text is not None and not found.columns:
            return self._with_columns(key, found)
        return found

    def path(self, provider: str, location: str) -> Relation:  # noqa: ARG002  of the protocol
        """The registered table at a location, else a STAGE relation."""
        name = self._paths.get(location.rstrip("/"))
        found = self.relation(split_name(name)) if name is not None else None
        if found is not None:
            return found
        return Relation(location, Domain.STAGE, object_id(Domain.STAGE.value, location), location=location)

    def function(self, parts: Sequence[str], current: tuple[str, str] | None = None) -> Function | None:
        """The user-defined function that a name means."""
        # Each function that sqlglot does not know is asked for, and most catalogs have none.
        if not self._functions:
            return None
        return self._functions.get(_key(qualify(parts, current or self._current)))

    def policies(self, relation: Relation) -> Sequence[Attachment]:
        """The policies in force on a table or view."""
        return self._governance.policies(relation)

    def governance_id(self, domain: Domain, name: str) -> int | None:
        """The id of a policy or tag by its fully qualified name."""
        return self._governance.governance_id(domain, name)

    def tagged(self, relation: Relation, column: str | None, tag: str) -> bool:
        """Whether a tag is set on an object, or on a column of it, by itself."""
        return self._governance.tagged(relation, column, tag)

    def has_schema(self, parts: Sequence[str]) -> bool:
        """Whether it is the current schema or holds a table, view or function."""
        full = _key((self._current[0], *parts)[-2:])
        # The current schema counts also while it is empty.
        named = (*self._relations, *self._functions, _key((*self._current, "")))
        return any(len(key) > 2 and key[:2] == full for key in named)  # noqa: PLR2004  catalog, schema, object

    @property
    def governance(self) -> InMemoryGovernance:
        """A copy of its policies and tags."""
        return self._governance.copy()

    def _with_columns(self, key: tuple[str, ...], view: Relation) -> Relation:
        # A view's columns are those of its query; `_open` stops views that name each other.
        if key in self._open or view.view_text is None:
            return view
        from lineage.sql.parse import parse
        from lineage.statements.trace import trace

        self._open.add(key)
        try:
            # Not `analyze`, which caches: a result inside a circle of views is incomplete.
            outs = trace(parse(view.view_text), self).columns
        finally:
            self._open.discard(key)
        columns = tuple(Column(o.name, o.type) for o in outs)
        self._relations[key] = with_ids(replace(view, columns=columns))
        return self._relations[key]


def _command(text: str) -> Command:
    from lineage.sql.parse import parse

    command = parse(text).command
    if command is None or not (command.changes or command.policy or command.domain is Domain.TAG):
        raise BadPolicyError(text)
    return command


def _policy(given: Policy | str) -> Policy:
    if isinstance(given, Policy):
        return given
    policy = _command(given).policy
    if policy is None:
        raise BadPolicyError(given)
    return policy


def _key(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple([part.lower() for part in parts])
