"""The state of governance: policies, tags, protected objects, roles and grants. Pure values; no Spark.

In: a relation, a user, a privilege. Out: policies in force, roles, whether the privilege is granted. A state
is never changed: `apply_events.state_after` makes the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from audit.policies.model.governed_objects import (
    PolicyUse,
    ProtectedObject,
    RoleRecord,
    StoredPolicy,
    Tag,
    schema_key,
)
from audit.policies.model.grants import Grants
from audit.policies.model.privileges import PUBLIC, Holder, Principal, Securable
from audit.policies.model.types import kind_of
from lineage.model import Attachment, Domain, Relation
from lineage.names import quote_name, split_name

Changes = Callable[[str], "bool | None"]


@dataclass(slots=True)
class GovernanceState:
    """All governance at one moment. `state_after` fills a new state before it hands it out.

    Attributes:
        policies: by the id of the event that created them.
        names: the same id by domain and name in lower case.
        objects: objects with policies or tags, now or earlier, by key.
        by_object_id: the key of an object by its objectId.
        roles: the roles granted to each role, by its name in upper case.
        granted: the roles granted to each user.
        grants: privileges and owners.
        functions: the policies that stand for a function, by domain and function name.
        role_records: who created each role.
        tags: by the id of the event that created them, dropped ones included.
        tag_names: the same id by name in lower case.
        carriers: the keys of objects that ever had a tag, on themselves or on a column, by the tag's id.
        fresh: the tags whose sets in `carriers` are copies of this state and may be changed.
    """

    policies: dict[str, StoredPolicy] = field(default_factory=dict)
    names: dict[tuple[Domain, str], str] = field(default_factory=dict)
    objects: dict[str, ProtectedObject] = field(default_factory=dict)
    by_object_id: dict[int, str] = field(default_factory=dict)
    roles: dict[str, frozenset[str]] = field(default_factory=dict)
    granted: dict[str, frozenset[str]] = field(default_factory=dict)
    grants: Grants = field(default_factory=Grants)
    role_records: dict[str, RoleRecord] = field(default_factory=dict)
    functions: dict[tuple[Domain, str], str] = field(default_factory=dict)
    tags: dict[str, Tag] = field(default_factory=dict)
    tag_names: dict[str, str] = field(default_factory=dict)
    carriers: dict[str, dict[str, None]] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set, repr=False, compare=False)

    def find(self, domain: Domain, name: str) -> tuple[str, StoredPolicy] | None:
        """A policy by its fully qualified name, with its id."""
        found = self.names.get((domain, name.casefold()))
        return None if found is None else (found, self.policies[found])

    def protected(self, relation: Relation) -> ProtectedObject | None:
        """The policies and tags of a relation; None if it never had any."""
        key = self.by_object_id.get(relation.object_id or 0)
        # A view's key is its name; a table of that name must not inherit its policies.
        if key is None and relation.domain is Domain.VIEW:
            key = f"name:{relation.name.casefold()}"
        return self.objects.get(key or "")

    def identity(self, domain: Domain, name: str) -> int | None:
        """The objectId of a policy or tag by its fully qualified name; None where there is none."""
        if domain is Domain.TAG:
            tag = self.tag_names.get(name.casefold())
            return None if tag is None else self.tags[tag].tag_id
        found = self.find(domain, name)
        return None if found is None else found[1].policy.policy_id

    def tagged(self, relation: Relation, column: str | None, tag: str) -> bool:
        """Whether a tag is set on a table, view or schema, or on a column of it, by itself."""
        is_schema = relation.domain is Domain.SCHEMA
        found = self.objects.get(schema_key(relation.name)) if is_schema else self.protected(relation)
        identity = self.tag_names.get(tag.casefold())
        if found is None or identity is None:
            return False
        if column is None:
            return identity in found.tags
        known = relation.index.get(column.lower())
        wanted = (column.casefold(), None if known is None else known.column_id)
        there = {one.column_id for one in relation.columns}
        return any(
            identity in tags and _is(found.columns[key], wanted, there)
            for key, tags in found.column_tags.items()
        )

    def attachments(
        self, relation: Relation, changes: Changes = lambda _policy: None
    ) -> tuple[Attachment, ...]:
        """The policies in force on a relation, those of its tags included, as values of `lineage`.

        Args:
            relation: a table or view.
            changes: whether a policy, by its id, could change what a user sees; None for unknown.
        """
        found = self.protected(relation)
        schema = self._schema_of(relation)
        if found is None and schema is None:
            return ()
        name_of = _names_of(found, relation)
        masks = {} if found is None else self.masks(found)
        attached = [
            Attachment(self.policies[use.policy].policy, tuple(map(name_of, use.columns)), could)
            for use, could in _uses(found, masks, changes)
        ]
        by_kind = self._by_kind(one.tags for one in (found, schema) if one is not None)
        masked = {name_of(key).casefold() for key in masks} if by_kind else set()
        for column in relation.columns if by_kind else ():
            policy = by_kind.get(kind_of(column.type)) if column.name.casefold() not in masked else None
            if policy is not None:
                attached.append(Attachment(self.policies[policy].policy, (column.name,), changes(policy)))
        return tuple(attached)

    def masks(self, protected: ProtectedObject) -> Mapping[str, PolicyUse]:
        """The masks of the columns of an object, by their keys, those through tags included.

        A mask set on the column comes first, then one of the column's tags, then one of the object's tags
        (Snowflake, Tag-based masking policies: precedence). Tags of the schema, and columns added after their
        table was tagged, are covered by `tagged_kinds`.
        """
        of_all = self.tagged_kinds(protected)
        if not of_all and not protected.column_tags:
            return protected.masks
        found = dict(protected.masks)
        for key in protected.types if of_all else protected.column_tags:
            kind = protected.types[key]
            own = self._by_kind([protected.column_tags.get(key, {})])
            policy = own.get(kind) or of_all.get(kind)
            if policy is not None:
                found.setdefault(key, PolicyUse(policy, (key,)))
        return found

    def tagged_kinds(self, protected: ProtectedObject) -> Mapping[str, str]:
        """The masking policies of an object's own tags, by the kind of type that they mask."""
        return self._by_kind([protected.tags])

    def _by_kind(self, tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
        # A column has one mask: of two tags on one level the first that was set counts.
        found: dict[str, str] = {}
        for level in tags:
            for tag in level:
                for kind, policy in self.tags[tag].policies.items():
                    found.setdefault(kind, policy)
        return found

    def _schema_of(self, relation: Relation) -> ProtectedObject | None:
        # Paths and temporary views lie in no schema.
        if relation.domain is Domain.STAGE or relation.temporary:
            return None
        return self.objects.get(schema_key(quote_name(split_name(relation.name)[:-1])))

    def find_tag(self, name: str) -> tuple[str, Tag] | None:
        """A tag by its fully qualified name, with its id."""
        found = self.tag_names.get(name.casefold())
        return None if found is None else (found, self.tags[found])

    def tags_of(self, policy: str) -> list[Tag]:
        """The tags that bring a policy."""
        return [tag for tag in self.tags.values() if policy in tag.policies.values()]

    def users_of(self, policy: str) -> list[ProtectedObject]:
        """The objects that a policy is set on."""
        return [
            one
            for one in self.objects.values()
            if policy in one.rows
            or any(use.policy == policy for use in (*one.masks.values(), *one.grants.values()))
        ]

    def roles_of(self, user: str, given: Sequence[str]) -> frozenset[str]:
        """All roles of a user, in upper case: the session's, else those granted, and the roles of these."""
        # Roles given by the application replace those granted to the user.
        held: Iterable[str] = [role.upper() for role in given] or self.granted.get(user, frozenset())
        return self.roles_under(held) | {PUBLIC}

    def roles_under(self, roles: Iterable[str]) -> frozenset[str]:
        """Roles, by their names as they are, and all that are granted to them."""
        waiting = list(roles)
        found: set[str] = set()
        while waiting:
            role = waiting.pop()
            # Roles may form a diamond; a circle is refused at GRANT ROLE.
            if role not in found:
                found.add(role)
                waiting += self.roles.get(role, ())
        return frozenset(found)

    def held_by(self, holder: Holder) -> list[Holder]:
        """A role or user with all roles that it holds."""
        of_user = self.granted.get(holder.name, frozenset())
        held = of_user if holder.kind == "USER" else (holder.name,)
        roles = self.roles_under(held) | {PUBLIC}
        # A user may be called like a role.
        return [holder, *(one for role in sorted(roles) if (one := Holder("ROLE", role)) != holder)]

    def holds(self, who: Principal, privilege: str, on: Securable) -> bool:
        """Whether a user holds a privilege on an object."""
        return self.grants.holds(who, privilege, on)

    def owner(self, on: Securable) -> Holder:
        """Who owns an object; the administrators if unknown."""
        return self.grants.owner(on)


def _is(column: tuple[str, int], wanted: tuple[str, int | None], there: Iterable[int | None]) -> bool:
    # The id first: a rename keeps it. Columns of a clone are noted with the ids of its source's.
    return column[1] == wanted[1] or (column[1] not in there and column[0].casefold() == wanted[0])


def _names_of(found: ProtectedObject | None, relation: Relation) -> Callable[[str], str]:
    """A function from a column's key to its name: the relation's own, else the one in the event log."""
    names = {column.column_id: column.name for column in relation.columns if column.column_id is not None}
    noted: Mapping[str, tuple[str, int]] = {} if found is None else found.columns

    def name_of(key: str) -> str:
        name, identity = noted[key]
        return names.get(identity, name)

    return name_of


def _uses(
    found: ProtectedObject | None, masks: Mapping[str, PolicyUse], changes: Changes
) -> list[tuple[PolicyUse, bool | None]]:
    """The policies on an object and its columns, each with whether it could change what a user sees."""
    if found is None:
        return [(use, changes(use.policy)) for use in masks.values()]
    grants = tuple(found.grants.values())
    # BigQuery's policies are alternatives: one that shows all rows makes the table's others void.
    open_to_all = any(changes(use.policy) is False for use in grants)
    return [
        *((use, changes(use.policy)) for use in found.rows.values()),
        *((use, False if open_to_all else changes(use.policy)) for use in grants),
        *((use, changes(use.policy)) for use in masks.values()),
    ]
