"""A catalog in memory: plain dictionaries of tables, views and functions.

In: names with columns, view texts, functions, policies. Out: a `Catalog` that answers as Spark's would. For
tests, for tools without a metastore, and for the tables that a script creates on its way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lineage.errors import BadPolicyError
from lineage.functions import read_function
from lineage.governance import Governance
from lineage.model import Attachment, Column, Domain, Function, Policy, Relation
from lineage.names import qualify, quote_name, split_name, stable_id
from lineage.statement import Command

SPARK_CATALOG = "spark_catalog"


class MemoryCatalog:
    """Tables, views and functions by name; ids are a stable 63-bit hash of the full name.

    Args:
        tables: `"schema.table"` to columns (`{"column": "type"}`, or an iterable of names).
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
        tables: Mapping[str, Mapping[str, str] | Iterable[str]] | None = None,
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
        here = split_name(current_schema)
        self._current = (here[0], here[1]) if len(here) > 1 else (SPARK_CATALOG, here[0])
        self._relations: dict[tuple[str, ...], Relation] = {}
        self._open: set[tuple[str, ...]] = set()
        self._functions: dict[tuple[str, ...], Function] = {}
        self._version = object()
        self._governance = Governance()
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
            self._governance.follow(command, self._current, on)
        self._paths = {p.rstrip("/"): n for p, n in (paths or {}).items()}

    @property
    def current(self) -> tuple[str, str]:
        """The current catalog and schema."""
        return self._current

    @property
    def version(self) -> object:
        """A new object after each change, and one of its own for each catalog."""
        return self._version

    def add_table(self, parts: Sequence[str], columns: Mapping[str, str] | Iterable[str]) -> Relation:
        """Add or replace a table; returns what the name stands for from now on."""
        full = qualify(parts, self._current)
        typed = columns if isinstance(columns, Mapping) else dict.fromkeys(columns, "")
        relation = Relation(
            quote_name(full),
            object_id=stable_id(*full),
            columns=tuple(Column(n, t, stable_id(*full, n)) for n, t in typed.items()),
            system=_key(full[1:2]) in self._system,
        )
        self._relations[_key(full)] = relation
        self._version = object()
        return relation

    def add_view(
        self, parts: Sequence[str], text: str, *, temporary: bool = False, columns: Sequence[str] = ()
    ) -> None:
        """Add or replace a view; without `columns` they are those of its query."""
        self._version = object()
        full = tuple(parts) if temporary else qualify(parts, self._current)
        self._relations[_key(full)] = Relation(
            quote_name(full),
            Domain.VIEW,
            stable_id(*full),
            tuple(Column(n, "", stable_id(*full, n)) for n in columns),
            view_text=text,
            view_current=self._current,
            temporary=temporary,
            system=not temporary and _key(full[1:2]) in self._system,
        )

    def add_function(self, parts: Sequence[str], function: Function | str) -> None:
        """Add or replace a function; its name is completed and its id filled in."""
        self._version = object()
        if isinstance(function, str):
            function = read_function(function)
        full = qualify(parts, self._current)
        object_id = function.object_id if function.object_id is not None else stable_id(*full)
        self._functions[_key(full)] = replace(function, name=quote_name(full), object_id=object_id)

    def remove(self, parts: Sequence[str]) -> None:
        """Forget a table or view."""
        self._version = object()
        self._relations.pop(_key(parts), None)
        self._relations.pop(_key(qualify(parts, self._current)), None)

    def relation(self, parts: Sequence[str], current: tuple[str, str] | None = None) -> Relation | None:
        """The table or view that a name means; temp views first."""
        key = _key(parts)
        found = self._relations.get(key) if len(key) == 1 or key[0] == "global_temp" else None
        if found is None:
            key = _key(qualify(parts, current or self._current))
            found = self._relations.get(key)
        if found is not None and found.view_text is not None and not found.columns:
            return self._with_columns(key, found)
        return found

    def path(self, provider: str, location: str) -> Relation:
        """The registered table at a location, else a STAGE relation."""
        name = self._paths.get(location.rstrip("/"))
        found = self.relation(split_name(name)) if name is not None else None
        if found is not None:
            return found
        return Relation(location, Domain.STAGE, stable_id(provider, location), location=location)

    def function(self, parts: Sequence[str], current: tuple[str, str] | None = None) -> Function | None:
        """The user-defined function that a name means."""
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
        named = (*self._relations, *self._functions, _key((*self._current, "")))
        return any(len(key) > 2 and key[:2] == full for key in named)  # noqa: PLR2004  catalog, schema, object

    @property
    def governance(self) -> Governance:
        """A copy of its policies and tags, to go on from."""
        return self._governance.copy()

    def _with_columns(self, key: tuple[str, ...], view: Relation) -> Relation:
        # A view's columns are those of its query; `_open` stops views that name each other.
        if key in self._open or view.view_text is None:
            return view
        from lineage.parse import parse
        from lineage.trace import trace

        self._open.add(key)
        try:
            # Not `analyze`: what is found while `_open` says stop is not to be remembered.
            outs = trace(parse(view.view_text), self).columns
        finally:
            self._open.discard(key)
        columns = tuple(Column(o.name, o.type, stable_id(view.name, o.name)) for o in outs)
        self._relations[key] = replace(view, columns=columns)
        return self._relations[key]


def _command(text: str) -> Command:
    from lineage.parse import parse

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
