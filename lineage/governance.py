"""Policies, tags, and what they are set on, in memory.

In: DDL commands on policies and tags, in order. Out: the policies in force on a relation. `MemoryCatalog`
and the overlay of a script hold one each; a real catalog answers from its own tables.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage.catalog import GovernedCatalog
from lineage.model import Attachment, Column, Domain, Policy, Relation
from lineage.names import qualify, quote_name, split_name, sql_name
from lineage.object_ids import object_id
from lineage.statement import Change, Command
from lineage.tokens import tokenize

_GOVERNED = frozenset({Domain.MASKING_POLICY, Domain.ROW_ACCESS_POLICY, Domain.TAG})
Here = tuple[str, str]
_Place = tuple[str, str | None]
_Use = tuple[str, tuple[str, ...]]  # a policy's name, the columns that stand for its parameters


@dataclass(slots=True)
class _Set:
    """What is set on one place, a relation, a schema or a column: policies by name, tags by key.

    `row_filter` is the function that filters (Databricks); a table has one.
    """

    masking: _Use | None = None
    row_access: dict[str, _Use] = field(default_factory=dict)
    row_filter: _Use | None = None
    tags: dict[str, str | None] = field(default_factory=dict)

    def rename(self, old: str, new: str) -> None:
        """Let policies ask for a column under its new name."""
        if self.masking is not None:
            self.masking = _with_column(self.masking, old, new)
        if self.row_filter is not None:
            self.row_filter = _with_column(self.row_filter, old, new)
        self.row_access = {key: _with_column(use, old, new) for key, use in self.row_access.items()}


class Governance:
    """The state that DDL on policies and tags leaves behind."""

    def __init__(self, below: GovernedCatalog | None = None) -> None:
        self._below = below
        self._policies: dict[tuple[Domain, str], Policy] = {}
        self._tags: dict[str, dict[str, None]] = {}
        self._dropped_tags: dict[str, dict[str, None]] = {}
        self._places: dict[_Place, _Set] = {}

    def copy(self) -> Governance:
        """The same state, to go on from without changing this one."""
        other = Governance(self._below)
        other._policies, other._tags, other._dropped_tags, other._places = copy.deepcopy(
            (self._policies, self._tags, self._dropped_tags, self._places)
        )
        return other

    def define(self, name: Sequence[str], policy: Policy, here: Here) -> Policy:
        """Add or replace a policy; its name is completed and its id filled in."""
        full = quote_name(qualify(name, here))
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

    def follow(self, command: Command, here: Here, on: Relation | None = None) -> None:
        """Take over what a statement about policies or tags changed; `on` is the table of `command.on`."""
        if command.on:
            self._rows_of_table(command, on or Relation(quote_name(qualify(command.on, here))))
        elif command.domain in _GOVERNED:
            self._object(command, here)
        elif command.domain is Domain.SCHEMA:
            self.protect(quote_name((here[0], *command.target)[-2:]), command.changes, here)
        elif command.changes:
            self.protect(quote_name(qualify(command.target, here)), command.changes, here)

    def _rows_of_table(self, command: Command, table: Relation) -> None:
        """BigQuery's row access policies belong to a table: its columns are their parameters."""
        name = (*split_name(table.name), *command.target)
        full = quote_name(name)
        key = (Domain.ROW_ACCESS_POLICY, full.casefold())
        place = self._places.setdefault((table.name.casefold(), None), _Set())
        if command.policy is None:
            place.row_access.pop(full.casefold(), None)
            self._policies.pop(key, None)
        elif not (command.if_clause and key in self._policies):
            words = {token.text.casefold() for token in tokenize(command.policy.body) or ()}
            columns = tuple(column for column in table.columns if column.name.casefold() in words)
            self.define(name, replace(command.policy, parameters=columns), (name[0], name[-2]))
            place.row_access[full.casefold()] = (full, tuple(column.name for column in columns))

    def _object(self, command: Command, here: Here) -> None:
        domain = command.domain or Domain.TAG
        full = quote_name(qualify(command.target, here))
        key = full.casefold()
        verb = command.kind.partition("_")[0]
        if domain is Domain.TAG:
            self._tag(command, verb, key, here)
        elif verb == "CREATE" and command.policy is not None:
            if not (command.if_clause and (domain, key) in self._policies):
                self.define(command.target, command.policy, here)
        elif verb == "DROP":
            self._policies.pop((domain, key), None)
        elif verb == "ALTER" and (domain, key) in self._policies:
            body = dict(command.properties).get("body")
            known = self._policies[domain, key]
            self._policies[domain, key] = replace(known, body=body or known.body)
        elif verb == "RENAME" and (domain, key) in self._policies:
            self._rename(domain, key, quote_name(qualify(command.new_name, here)))

    def _rename(self, domain: Domain, key: str, name: str) -> None:
        # What a policy protects goes on being protected: its places follow the new name.
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

    def _tag(self, command: Command, verb: str, key: str, here: Here) -> None:
        if verb == "DROP" and key in self._tags:
            self._dropped_tags[key] = self._tags.pop(key)
        elif verb == "UNDROP" and key in self._dropped_tags:
            self._tags[key] = self._dropped_tags.pop(key)
        if verb in ("DROP", "UNDROP"):
            return
        policies = self._tags.setdefault(key, {})
        for change in command.changes:
            if change.domain is Domain.MASKING_POLICY:
                name = quote_name(qualify(change.name, here)).casefold()
                if change.operation == "ADD":
                    policies[name] = None
                else:
                    policies.pop(name, None)
        if verb == "RENAME":
            new = quote_name(qualify(command.new_name, here)).casefold()
            self._tags[new] = self._tags.pop(key)
            for place in self._places.values():
                place.tags = {new if k == key else k: v for k, v in place.tags.items()}

    def protect(self, name: str, changes: Sequence[Change], here: Here) -> None:
        """Policies and tags are put on an object and its columns, or taken off."""
        for change in changes:
            column = change.column.casefold() if change.column is not None else None
            place = self._places.setdefault((name.casefold(), column), _Set())
            if change.function and change.name:
                self._function(change, here)
            _change(place, change, here)
        if any(
            change.domain is Domain.ROW_ACCESS_POLICY and change.operation == "DROP" for change in changes
        ):
            self._drop_unused(name)

    def _function(self, change: Change, here: Here) -> None:
        """A function that masks or filters: a policy that calls it."""
        columns = change.columns if change.column is None else (change.column, *change.columns)
        arguments = tuple(Column(f"arg{number}") for number in range(len(columns)))
        name = qualify(change.name, here)
        body = f"{sql_name(name)}({', '.join(one.name for one in arguments)})"
        self.define(name, Policy("", change.domain or Domain.MASKING_POLICY, body, arguments), here)

    def _drop_unused(self, table: str) -> None:
        """A policy that belongs to a table goes with its place there."""
        whole = self._places.get((table.casefold(), None), _Set())
        for domain, key in self._of_table(table):
            if key not in whole.row_access:
                del self._policies[domain, key]

    def _of_table(self, table: str) -> list[tuple[Domain, str]]:
        """The keys of the policies that belong to a table."""
        return [key for key in self._policies if key[1].startswith(f"{table.casefold()}.")]

    def made(self, name: str) -> None:
        """A table or view is new under a name: what was set on an earlier one of that name is gone."""
        key = name.casefold()
        self._places = {place: what for place, what in self._places.items() if place[0] != key}
        self._drop_unused(name)

    def cloned(self, source: Relation, name: str) -> None:
        """A clone is protected as its source is, and by the tags of the source's schema, wherever it is."""
        below = tuple(self._below.policies(source)) if self._below is not None else ()
        for attached in below:
            policy = self.define(split_name(attached.policy.name), attached.policy, ("", ""))
            is_mask = policy.domain is Domain.MASKING_POLICY
            column = attached.columns[0].casefold() if is_mask else None
            place = self._places.setdefault((name.casefold(), column), _Set())
            use = (policy.name, attached.columns)
            if is_mask:
                place.masking = use
            else:
                place.row_access[policy.name.casefold()] = use
        for (at, column), what in list(self._places.items()):
            if at == source.name.casefold():
                self._places[name.casefold(), column] = copy.deepcopy(what)
        for key in self._of_table(source.name):
            self._belong(replace(self._policies[key], policy_id=None), name)
        tags = self._schema_tags(source)
        if tags:
            place = self._places.setdefault((name.casefold(), None), _Set())
            place.tags = {**place.tags, **{key: tags[key] for key in tags if key not in place.tags}}

    def renamed(self, names: Mapping[str, str]) -> None:
        """Tables and views go by new names, all at once: what is set on them goes with them."""
        new = {old.casefold(): name.casefold() for old, name in names.items()}
        self._places = {(new.get(at, at), column): what for (at, column), what in self._places.items()}
        own = {old: self._of_table(old) for old in names}
        moved = {key: self._policies.pop(key) for keys in own.values() for key in keys}
        for old, keys in own.items():
            for key in keys:
                self._belong(moved[key], names[old])

    def _belong(self, policy: Policy, table: str) -> None:
        """A policy that belongs to a table goes by that table's name."""
        name = quote_name((*split_name(table), split_name(policy.name)[-1]))
        rows = self._places.get((table.casefold(), None), _Set()).row_access
        use = rows.pop(policy.name.casefold(), None)
        if use is not None:
            known = policy.policy_id
            identity = object_id(policy.domain.value, name) if known is None else known
            self._policies[policy.domain, name.casefold()] = replace(policy, name=name, policy_id=identity)
            rows[name.casefold()] = (name, use[1])

    def renamed_column(self, name: str, old: str, new: str) -> None:
        """A column goes by a new name: its policies, and those that ask for it, go on."""
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
        whole = self._places.get((name, None), _Set())
        uses = (*whole.row_access.values(), *((whole.row_filter,) if whole.row_filter is not None else ()))
        for policy, columns in uses:
            found += (Attachment(self._policy(Domain.ROW_ACCESS_POLICY, policy), columns),)
        tags = {**whole.tags, **self._schema_tags(relation)}  # the nearest first
        masked = (self._masking(name, column, tags) for column in relation.columns)
        return found + tuple(mask for mask in masked if mask is not None)

    def _policy(self, domain: Domain, name: str) -> Policy:
        # One that nobody has defined has no body: a trace that meets it is partial, and says so.
        known = self._policies.get((domain, name.casefold()))
        return known or Policy(name, domain, "", policy_id=object_id(domain.value, name))

    def _schema_tags(self, relation: Relation) -> dict[str, str | None]:
        if relation.domain is Domain.STAGE:
            return {}
        schema = quote_name(split_name(relation.name)[:-1])
        return self._places.get((schema.casefold(), None), _Set()).tags

    def _masking(self, name: str, column: Column, tags: dict[str, str | None]) -> Attachment | None:
        # A policy set on the column by name comes before one that comes through a tag.
        place = self._places.get((name, column.name.casefold()), _Set())
        if place.masking is not None:
            policy = self._policy(Domain.MASKING_POLICY, place.masking[0])
            using = place.masking[1]
            first = using[:1] and using[0].casefold() == column.name.casefold()
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


def _change(place: _Set, change: Change, here: Here) -> None:
    name = quote_name(qualify(change.name, here)) if change.name else ""
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
    name = text.partition("(")[0].partition("<")[0].strip().lower()
    return _SAME.get(name, name)
