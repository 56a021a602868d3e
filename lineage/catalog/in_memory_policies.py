"""Policies and tags in memory, with the objects they are set on.

In: DDL commands on policies and tags, in order. Out: the policies in force on a relation. `MemoryCatalog`
and the overlay of a script hold one each; a real catalog answers from its own tables.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage.catalog.object_ids import object_id
from lineage.catalog.protocol import GovernedCatalog
from lineage.model import Attachment, Column, Domain, Policy, Relation
from lineage.names import qualify, quote_name, split_name, sql_name
from lineage.sql.commands.command import Change, Command
from lineage.sql.tokens import tokenize

_GOVERNED = frozenset({Domain.MASKING_POLICY, Domain.ROW_ACCESS_POLICY, Domain.TAG})
CurrentSchema = tuple[str, str]
_Place = tuple[str, str | None]
_Use = tuple[str, tuple[str, ...]]  # a policy's name, the columns that stand for its parameters


@dataclass(slots=True)
class _AttachedPolicies:
    """The policies, by name, and tags, by key, of one relation, schema or column.

    `row_filter` is the function that filters (Databricks); a table has one.
    """

    masking: _Use | None = None
    row_access: dict[str, _Use] = field(default_factory=dict)
    row_filter: _Use | None = None
    tags: dict[str, str | None] = field(default_factory=dict)

    def rename(self, old: str, new: str) -> None:
        """Rename a column in the arguments of policies."""
        if self.masking is not None:
            self.masking = _with_column(self.masking, old, new)
        if self.row_filter is not None:
            self.row_filter = _with_column(self.row_filter, old, new)
        self.row_access = {key: _with_column(use, old, new) for key, use in self.row_access.items()}


class InMemoryGovernance:
    """The state of policies and tags after DDL."""

    def __init__(self, below: GovernedCatalog | None = None) -> None:
        self._below = below
        self._policies: dict[tuple[Domain, str], Policy] = {}
        self._tags: dict[str, dict[str, None]] = {}
        # UNDROP TAG brings a tag back with its masking policies.
        self._dropped_tags: dict[str, dict[str, None]] = {}
        self._places: dict[_Place, _AttachedPolicies] = {}

    def copy(self) -> InMemoryGovernance:
        """A copy that can be changed without changing this one."""
        other = InMemoryGovernance(self._below)
        other._policies, other._tags, other._dropped_tags, other._places = copy.deepcopy(
            (self._policies, self._tags, self._dropped_tags, self._places)
        )
        return other

    def define(self, name: Sequence[str], policy: Policy, current_schema: CurrentSchema) -> Policy:
        """Add or replace a policy; its name is completed and its id filled in."""
        full = quote_name(qualify(name, current_schema))
        identity = policy.policy_id if policy.policy_id is not None else object_id(policy.domain.value, full)
        policy = replace(policy, name=full, policy_id=identity)
        self._policies[policy.domain, full.casefold()] = policy
        return policy

    def governance_id(self, domain: Domain, name: str) -> int | None:
        """The id of a policy or tag by its fully qualified name, None where there is none."""
        key = name.casefold()
        if domain is Domain.TAG and key in self._tags:
            return object_id(domain.value, name)
        policy = self._policies.get((domain, key))
        if policy is not None:
            return policy.policy_id
        return None if self._below is None else self._below.governance_id(domain, name)

    def tagged(self, relation: Relation, column: str | None, tag: str) -> bool:
        """Whether a tag is set on an object, or on a column of it, by itself."""
        place = self._places.get((relation.name.casefold(), None if column is None else column.casefold()))
        if place is not None and tag.casefold() in place.tags:
            return True
        return self._below is not None and self._below.tagged(relation, column, tag)

    # -- DDL -----------------------------------------------------------------------------------

    def apply(self, command: Command, current_schema: CurrentSchema, on: Relation | None = None) -> None:
        """Apply a statement about policies or tags; `on` is the table of `command.on`."""
        if command.on:
            self._rows_of_table(command, on or Relation(quote_name(qualify(command.on, current_schema))))
        elif command.domain in _GOVERNED:
            self._object(command, current_schema)
        elif command.domain is Domain.SCHEMA:
            self.protect(
                quote_name((current_schema[0], *command.target)[-2:]), command.changes, current_schema
            )
        elif command.changes:
            self.protect(quote_name(qualify(command.target, current_schema)), command.changes, current_schema)

    def _rows_of_table(self, command: Command, table: Relation) -> None:
        """BigQuery's row access policies belong to a table: its columns are their parameters."""
        name = (*split_name(table.name), *command.target)
        full = quote_name(name)
        key = (Domain.ROW_ACCESS_POLICY, full.casefold())
        place = self._places.setdefault((table.name.casefold(), None), _AttachedPolicies())
        if command.policy is None:
            place.row_access.pop(full.casefold(), None)
            self._policies.pop(key, None)
        elif not (command.if_clause and key in self._policies):
            # BigQuery's filter has no parameter list: the columns whose names occur in it are its arguments.
            words = {token.text.casefold() for token in tokenize(command.policy.body) or ()}
            columns = tuple(column for column in table.columns if column.name.casefold() in words)
            self.define(name, replace(command.policy, parameters=columns), (name[0], name[-2]))
            place.row_access[full.casefold()] = (full, tuple(column.name for column in columns))

    def _object(self, command: Command, current_schema: CurrentSchema) -> None:
        domain = command.domain or Domain.TAG
        full = quote_name(qualify(command.target, current_schema))
        key = full.casefold()
        verb = command.kind.partition("_")[0]
        if domain is Domain.TAG:
            self._tag(command, verb, key, current_schema)
        elif verb == "CREATE" and command.policy is not None:
            if not (command.if_clause and (domain, key) in self._policies):
                self.define(command.target, command.policy, current_schema)
        elif verb == "DROP":
            self._policies.pop((domain, key), None)
        elif verb == "ALTER" and (domain, key) in self._policies:
            body = dict(command.properties).get("body")
            known = self._policies[domain, key]
            self._policies[domain, key] = replace(known, body=body or known.body)
        elif verb == "RENAME" and (domain, key) in self._policies:
            self._rename(domain, key, quote_name(qualify(command.new_name, current_schema)))

    def _rename(self, domain: Domain, key: str, name: str) -> None:
        # The references of a policy follow its new name.
        new = name.casefold()
        self._policies[domain, new] = replace(self._policies.pop((domain, key)), name=name)
        for place in self._places.values():
            if place.masking is not None and place.masking[0].casefold() == key:
                place.masking = (name, place.masking[1])
            if key in place.row_access:
                place.row_access[new] = (name, place.row_access.pop(key)[1])
        for policies in self._tags.values():
            if domain is Domain.MASKING_POLICY and key in policies:
                policies[new] = policies.pop(key)

    def _tag(self, command: Command, verb: str, key: str, current_schema: CurrentSchema) -> None:
        if verb == "DROP" and key in self._tags:
            self._dropped_tags[key] = self._tags.pop(key)
        elif verb == "UNDROP" and key in self._dropped_tags:
            self._tags[key] = self._dropped_tags.pop(key)
        if verb in ("DROP", "UNDROP"):
            return
        policies = self._tags.setdefault(key, {})
        for change in command.changes:
            if change.domain is Domain.MASKING_POLICY:
                name = quote_name(qualify(change.name, current_schema)).casefold()
                if change.operation == "ADD":
                    policies[name] = None
                else:
                    policies.pop(name, None)
        if verb == "RENAME":
            new = quote_name(qualify(command.new_name, current_schema)).casefold()
            self._tags[new] = self._tags.pop(key)
            for place in self._places.values():
                place.tags = {new if k == key else k: v for k, v in place.tags.items()}

    def protect(self, name: str, changes: Sequence[Change], current_schema: CurrentSchema) -> None:
        """Set or unset policies and tags on an object and its columns."""
        for change in changes:
            column = change.column.casefold() if change.column is not None else None
            place = self._places.setdefault((name.casefold(), column), _AttachedPolicies())
            if change.function and change.name:
                self._function(change, current_schema)
            _change(place, change, current_schema)
        if any(
            change.domain is Domain.ROW_ACCESS_POLICY and change.operation == "DROP" for change in changes
        ):
            self._drop_unused(name)

    def _function(self, change: Change, current_schema: CurrentSchema) -> None:
        """The policy that stands for a mask or filter function."""
        columns = change.columns if change.column is None else (change.column, *change.columns)
        arguments = tuple(Column(f"arg{number}") for number in range(len(columns)))
        name = qualify(change.name, current_schema)
        # Masks and filters of Databricks are functions; as a policy the body is a call of the function.
        body = f"{sql_name(name)}({', '.join(one.name for one in arguments)})"
        self.define(name, Policy("", change.domain or Domain.MASKING_POLICY, body, arguments), current_schema)

    def _drop_unused(self, table: str) -> None:
        """Drop a table's own policy when it is no longer set on the table."""
        whole = self._places.get((table.casefold(), None), _AttachedPolicies())
        for domain, key in self._of_table(table):
            if key not in whole.row_access:
                del self._policies[domain, key]

    def _of_table(self, table: str) -> list[tuple[Domain, str]]:
        """The keys of the policies that belong to a table."""
        return [key for key in self._policies if key[1].startswith(f"{table.casefold()}.")]

    def object_created(self, name: str) -> None:
        """Forget policies and tags of an earlier object of the name of a new one."""
        key = name.casefold()
        self._places = {place: what for place, what in self._places.items() if place[0] != key}
        self._drop_unused(name)

    def object_cloned(self, source: Relation, name: str) -> None:
        """Give a clone the policies and tags of its source, and the tags of the source's schema."""
        below = tuple(self._below.policies(source)) if self._below is not None else ()
        for attached in below:
            policy = self.define(split_name(attached.policy.name), attached.policy, ("", ""))
            is_mask = policy.domain is Domain.MASKING_POLICY
            column = attached.columns[0].casefold() if is_mask else None
            place = self._places.setdefault((name.casefold(), column), _AttachedPolicies())
            use = (policy.name, attached.columns)
            if is_mask:
                place.masking = use
            else:
                place.row_access[policy.name.casefold()] = use
        for (at, column), what in list(self._places.items()):
            if at == source.name.casefold():
                # A copy: what is set on the clone later is not set on its source.
                self._places[name.casefold(), column] = copy.deepcopy(what)
        for key in self._of_table(source.name):
            # Without an id, so that it gets one of its own: a policy of BigQuery belongs to one table.
            self._belong(replace(self._policies[key], policy_id=None), name)
        tags = self._schema_tags(source)
        if tags:
            place = self._places.setdefault((name.casefold(), None), _AttachedPolicies())
            place.tags = {**place.tags, **{key: tags[key] for key in tags if key not in place.tags}}

    def objects_renamed(self, names: Mapping[str, str]) -> None:
        """Rename tables and views, all at once, with their policies and tags."""
        # All at once: a SWAP gives two tables the names of each other.
        new = {old.casefold(): name.casefold() for old, name in names.items()}
        self._places = {(new.get(at, at), column): what for (at, column), what in self._places.items()}
        own = {old: self._of_table(old) for old in names}
        moved = {key: self._policies.pop(key) for keys in own.values() for key in keys}
        for old, keys in own.items():
            for key in keys:
                self._belong(moved[key], names[old])

    def _belong(self, policy: Policy, table: str) -> None:
        """Rename a table's own policies with the table."""
        name = quote_name((*split_name(table), split_name(policy.name)[-1]))
        rows = self._places.get((table.casefold(), None), _AttachedPolicies()).row_access
        use = rows.pop(policy.name.casefold(), None)
        if use is not None:
            known = policy.policy_id
            identity = object_id(policy.domain.value, name) if known is None else known
            self._policies[policy.domain, name.casefold()] = replace(policy, name=name, policy_id=identity)
            rows[name.casefold()] = (name, use[1])

    def column_renamed(self, name: str, old: str, new: str) -> None:
        """Rename a column in its policies, and in those that have it as an argument."""
        key = name.casefold()
        place = self._places.pop((key, old.casefold()), None)
        if place is not None:
            self._places[key, new.casefold()] = place
        for (at, _), what in self._places.items():
            if at == key:
                what.rename(old.casefold(), new)

    # -- answers -------------------------------------------------------------------------------

    def policies(self, relation: Relation) -> tuple[Attachment, ...]:
        """The policies in force on a relation: row access first, then masking, column by column."""
        found = tuple(self._below.policies(relation)) if self._below is not None else ()
        if not self._places or relation.temporary:
            return found
        name = relation.name.casefold()
        whole = self._places.get((name, None), _AttachedPolicies())
        uses = (*whole.row_access.values(), *((whole.row_filter,) if whole.row_filter is not None else ()))
        for policy, columns in uses:
            found += (Attachment(self._policy(Domain.ROW_ACCESS_POLICY, policy), columns),)
        tags = {**whole.tags, **self._schema_tags(relation)}  # the nearest first
        masked = (self._masking(name, column, tags) for column in relation.columns)
        return found + tuple(mask for mask in masked if mask is not None)

    def _policy(self, domain: Domain, name: str) -> Policy:
        # An undefined policy has no body; a trace over it is partial, with that reason.
        known = self._policies.get((domain, name.casefold()))
        return known or Policy(name, domain, "", policy_id=object_id(domain.value, name))

    def _schema_tags(self, relation: Relation) -> dict[str, str | None]:
        if relation.domain is Domain.STAGE:
            return {}
        schema = quote_name(split_name(relation.name)[:-1])
        return self._places.get((schema.casefold(), None), _AttachedPolicies()).tags

    def _masking(self, name: str, column: Column, tags: dict[str, str | None]) -> Attachment | None:
        # A policy set on the column by name comes before one that comes through a tag.
        place = self._places.get((name, column.name.casefold()), _AttachedPolicies())
        if place.masking is not None:
            policy = self._policy(Domain.MASKING_POLICY, place.masking[0])
            using = place.masking[1]
            first = using[:1] and using[0].casefold() == column.name.casefold()
            # Snowflake lists the masked column first in USING, Databricks leaves it out.
            return Attachment(policy, using if first else (column.name, *using))
        for tag in {**place.tags, **tags}:
            for key in self._tags.get(tag, ()):
                policy = self._policy(Domain.MASKING_POLICY, key)
                if _fits(policy, column):
                    return Attachment(policy, (column.name,))
        return None


def _with_column(use: _Use, old: str, new: str) -> _Use:
    policy, columns = use
    return policy, tuple(new if column.casefold() == old else column for column in columns)


def _change(place: _AttachedPolicies, change: Change, current_schema: CurrentSchema) -> None:
    name = quote_name(qualify(change.name, current_schema)) if change.name else ""
    key = name.casefold()
    adds = change.operation == "ADD"
    if change.domain is Domain.MASKING_POLICY:
        place.masking = (name, change.columns) if adds else None
    elif change.domain is Domain.TAG:
        if adds:
            place.tags[key] = change.value
        else:
            place.tags.pop(key, None)
    elif change.function:
        place.row_filter = (name, change.columns) if adds else None
    elif adds:
        place.row_access[key] = (name, change.columns)
    elif key:
        place.row_access.pop(key, None)
    else:
        # DROP ALL ROW ACCESS POLICIES names none.
        place.row_access.clear()
        place.row_filter = None


# A tag's policy masks the columns of its own data type alone (tag-based masking policies).
_SAME = {
    "varchar": "string", "char": "string", "text": "string", "integer": "int", "number": "decimal",
    "numeric": "decimal", "dec": "decimal", "long": "bigint", "short": "smallint", "byte": "tinyint",
    "real": "float",
}  # fmt: skip


def _fits(policy: Policy, column: Column) -> bool:
    wanted = _plain_type(policy.parameters[0].type) if policy.parameters else ""
    return not wanted or not column.type or wanted == _plain_type(column.type)


def _plain_type(text: str) -> str:
    # Lengths and precisions do not count.
    name = text.partition("(")[0].partition("<")[0].strip().lower()
    return _SAME.get(name, name)
