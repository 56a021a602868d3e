"""The governance as it stands: policies, what they protect, roles. Pure values; no Spark.

In: events, oldest first. Out: a `State`, which says what protects a relation and who has which role. A state
is never changed: `folded` gives the next one, which shares what has not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage.model import Attachment, Column, Domain, Policy, Relation
from lineage.object_ids import object_id
from policies.events import Event


@dataclass(frozen=True, slots=True)
class Defined:
    """A policy: its definition, how often its body has changed, and who made it when (UTC microseconds)."""

    policy: Policy
    version: int
    created: int
    changed: int
    owner: str | None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """Who made a role when (UTC microseconds), and what they say of it."""

    created: int
    owner: str | None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """A policy on columns, the masked one first; `columns` are keys that a rename keeps."""

    policy: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Protected:
    """An object and what protects it.

    Attributes:
        key: `delta:<table id>` or `name:<name in lower case>`.
        name: fully qualified, as it was when a policy was last set on it.
        domain: a table or a view.
        columns: of each column that a policy names, by its key: name and columnId.
        masks: by the key of the masked column.
        rows: row access policies, by id.
        had_rows: whether it ever had a row access policy.
    """

    key: str
    name: str
    domain: Domain
    columns: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    masks: Mapping[str, Use] = field(default_factory=dict)
    rows: Mapping[str, Use] = field(default_factory=dict)
    had_rows: bool = False


@dataclass(slots=True)
class State:
    """All of it at one moment; only `folded` changes one, before anybody else sees it.

    Attributes:
        policies: by the id of the event that made them.
        names: domain and name in lower case to that id.
        objects: what is, or was, protected, by key.
        by_object_id: the key of an object by its objectId.
        roles: the roles that there are, by name in upper case: the roles granted to each.
        granted: the roles granted to each user.
        made: who made each role.
    """

    policies: dict[str, Defined] = field(default_factory=dict)
    names: dict[tuple[Domain, str], str] = field(default_factory=dict)
    objects: dict[str, Protected] = field(default_factory=dict)
    by_object_id: dict[int, str] = field(default_factory=dict)
    roles: dict[str, frozenset[str]] = field(default_factory=dict)
    granted: dict[str, frozenset[str]] = field(default_factory=dict)
    made: dict[str, Made] = field(default_factory=dict)

    def find(self, domain: Domain, name: str) -> tuple[str, Defined] | None:
        """A policy by its fully qualified name, with its id."""
        found = self.names.get((domain, name.casefold()))
        return None if found is None else (found, self.policies[found])

    def protected(self, relation: Relation) -> Protected | None:
        """What protects a relation; None for what nothing ever protected."""
        key = self.by_object_id.get(relation.object_id or 0) or f"name:{relation.name.casefold()}"
        return self.objects.get(key)

    def attachments(self, relation: Relation) -> tuple[Attachment, ...]:
        """The policies in force on a relation, as lineage knows them."""
        found = self.protected(relation)
        if found is None:
            return ()
        uses = [*found.rows.values(), *found.masks.values()]
        names = {column.column_id: column.name for column in relation.columns if column.column_id is not None}

        def name_of(key: str) -> str:
            name, identity = found.columns[key]
            return names.get(identity, name)

        return tuple(
            Attachment(self.policies[use.policy].policy, tuple(map(name_of, use.columns))) for use in uses
        )

    def users_of(self, policy: str) -> list[Protected]:
        """What a policy protects."""
        return [
            one
            for one in self.objects.values()
            if policy in one.rows or any(use.policy == policy for use in one.masks.values())
        ]

    def roles_of(self, user: str, given: Sequence[str]) -> frozenset[str]:
        """All roles of somebody, upper case: those of the session or else granted, and what they hold."""
        waiting = [role.upper() for role in given] or list(self.granted.get(user, ()))
        found: set[str] = set()
        while waiting:
            role = waiting.pop()
            if role not in found:
                found.add(role)
                waiting += self.roles.get(role, ())
        return frozenset(found | {PUBLIC})


PUBLIC = "PUBLIC"
"""The role that everybody has."""
ADMIN = "ACCOUNTADMIN"
"""The role of those whom the configuration calls administrators; it may be granted, too."""


def folded(events: Iterable[Event], before: State | None = None) -> State:
    """What events lead to, oldest first; the state before stays as it is."""
    old = State() if before is None else before
    state = State(
        dict(old.policies), dict(old.names), dict(old.objects), dict(old.by_object_id), dict(old.roles),
        dict(old.granted), dict(old.made),
    )  # fmt: skip
    for event in events:
        _FOLDS[event.event](state, event)
    return state


# -- policies ----------------------------------------------------------------------------------


def _create_policy(state: State, event: Event) -> None:
    said = event.details
    domain = Domain(said["domain"])
    columns = tuple(Column(name, kind) for name, kind in said["parameters"])
    policy = Policy(
        event.name, domain, said["body"], columns, object_id(domain.value, event.event_id), said["returns"]
    )
    made = Defined(policy, 1, event.time, event.time, event.role or event.user, said.get("comment"))
    state.policies[event.event_id] = made
    state.names[domain, event.name.casefold()] = event.event_id


def _set_body(state: State, event: Event) -> None:
    known = state.policies[event.of_id or ""]
    policy = replace(known.policy, body=event.details["body"])
    state.policies[event.of_id or ""] = replace(
        known, policy=policy, version=known.version + 1, changed=event.time
    )


def _set_comment(state: State, event: Event) -> None:
    known = state.policies[event.of_id or ""]
    state.policies[event.of_id or ""] = replace(known, comment=event.details["comment"], changed=event.time)


def _rename_policy(state: State, event: Event) -> None:
    identity = event.of_id or ""
    known = state.policies[identity]
    del state.names[known.policy.domain, known.policy.name.casefold()]
    state.names[known.policy.domain, event.name.casefold()] = identity
    policy = replace(known.policy, name=event.name)
    state.policies[identity] = replace(known, policy=policy, changed=event.time)


def _drop_policy(state: State, event: Event) -> None:
    gone = state.policies.pop(event.of_id or "").policy
    del state.names[gone.domain, gone.name.casefold()]


# -- what they protect -------------------------------------------------------------------------


def _object(state: State, event: Event) -> Protected:
    said = event.details
    known = state.objects.get(event.object_key or "") or Protected(
        event.object_key or "", event.name, Domain(said["object_domain"])
    )
    columns = {key: (name, identity) for key, name, identity in said.get("columns", ())}
    return replace(known, name=event.name, columns={**known.columns, **columns})


def _put(state: State, event: Event, protected: Protected) -> None:
    state.objects[protected.key] = protected
    identity = event.details.get("object_id")
    if identity is not None:
        state.by_object_id[identity] = protected.key


def _set_masking(state: State, event: Event) -> None:
    known = _object(state, event)
    keys = tuple(column[0] for column in event.details["columns"])
    use = Use(event.of_id or "", keys)
    _put(state, event, replace(known, masks={**known.masks, keys[0]: use}))


def _unset_masking(state: State, event: Event) -> None:
    known = _object(state, event)
    gone = event.details["column"]
    kept = {key: use for key, use in known.masks.items() if key != gone}
    _put(state, event, replace(known, masks=kept))


def _add_rows(state: State, event: Event) -> None:
    known = _object(state, event)
    use = Use(event.of_id or "", tuple(column[0] for column in event.details["columns"]))
    _put(state, event, replace(known, rows={**known.rows, use.policy: use}, had_rows=True))


def _drop_rows(state: State, event: Event) -> None:
    known = _object(state, event)
    kept = {policy: use for policy, use in known.rows.items() if policy != event.of_id}
    _put(state, event, replace(known, rows=kept))


def _copy(state: State, event: Event) -> None:
    """A clone is protected as its source was."""
    known = state.objects[event.details["source"]]
    _put(state, event, replace(known, key=event.object_key or "", name=event.name))


# -- roles -------------------------------------------------------------------------------------


def _create_role(state: State, event: Event) -> None:
    state.roles[event.name] = frozenset()
    owner = event.role or event.user
    state.made[event.name] = Made(event.time, owner, event.details.get("comment"))


def _drop_role(state: State, event: Event) -> None:
    gone = frozenset({event.name})
    state.roles.pop(event.name)
    state.made.pop(event.name)
    state.roles |= {role: held - gone for role, held in state.roles.items()}
    state.granted |= {user: held - gone for user, held in state.granted.items()}


def _comment_role(state: State, event: Event) -> None:
    state.made[event.name] = replace(state.made[event.name], comment=event.details["comment"])


def _grant_role(state: State, event: Event) -> None:
    held = _holders(state, event)
    held[event.details["grantee"]] = held.get(event.details["grantee"], frozenset()) | {event.name}


def _revoke_role(state: State, event: Event) -> None:
    held = _holders(state, event)
    held[event.details["grantee"]] = held.get(event.details["grantee"], frozenset()) - {event.name}


def _holders(state: State, event: Event) -> dict[str, frozenset[str]]:
    return state.roles if event.details["to"] == "ROLE" else state.granted


_FOLDS = {
    "CREATE_POLICY": _create_policy,
    "SET_BODY": _set_body,
    "SET_COMMENT": _set_comment,
    "RENAME_POLICY": _rename_policy,
    "DROP_POLICY": _drop_policy,
    "SET_MASKING_POLICY": _set_masking,
    "UNSET_MASKING_POLICY": _unset_masking,
    "ADD_ROW_ACCESS_POLICY": _add_rows,
    "DROP_ROW_ACCESS_POLICY": _drop_rows,
    "COPY_POLICIES": _copy,
    "CREATE_ROLE": _create_role,
    "DROP_ROLE": _drop_role,
    "SET_ROLE_COMMENT": _comment_role,
    "GRANT_ROLE": _grant_role,
    "REVOKE_ROLE": _revoke_role,
}
