"""The governance as it stands: policies, what they protect, roles. Pure values; no Spark.

In: events, oldest first. Out: a `State`, which says what protects a relation and who has which role. A state
is never changed: `folded` gives the next one, which shares what has not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lineage.model import Attachment, Column, Domain, Policy, Relation
from lineage.names import quote_name, split_name
from lineage.object_ids import object_id
from policies.errors import GovernanceError
from policies.events import Event
from policies.grants import Grants
from policies.privileges import ADMIN, PUBLIC, Holder, Securable, Who
from policies.types import kind_of

Changes = Callable[[str], "bool | None"]


@dataclass(frozen=True, slots=True)
class Defined:
    """A policy: its definition, how often its body has changed, and who made it when (UTC microseconds).

    `function` says that it stands for a function of its name.
    """

    policy: Policy
    version: int
    created: int
    changed: int
    owner: str | None
    comment: str | None = None
    function: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """Who made a role when (UTC microseconds), and what they say of it."""

    created: int
    owner: str | None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag, and who made it when (UTC microseconds).

    Attributes:
        name: fully qualified.
        tag_id: its objectId.
        allowed: the values that it takes; None for any.
        policies: the masking policies that come with it, by the kind of type that each masks.
        created: when it was made.
        owner: who made it.
        comment: what they say of it.
        dropped: nobody finds it, and UNDROP brings it back with all that it is set on.
    """

    name: str
    tag_id: int
    allowed: tuple[str, ...] | None
    policies: Mapping[str, str]
    created: int
    owner: str | None
    comment: str | None = None
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """A policy on columns, the masked one first; `columns` are keys that a rename keeps."""

    policy: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Protected:
    """An object and what protects it.

    Attributes:
        key: `delta:<table id>`, `name:<name in lower case>`, or `schema:<name in lower case>`.
        name: fully qualified, as it was when a policy or a tag was last set on it.
        domain: a table, a view or a schema.
        columns: of each column that a policy or a tag names, by its key: name and columnId.
        masks: by the key of the masked column.
        rows: row access policies, by id.
        had_rows: whether it ever had a row access policy.
        grants: row access policies of which one has to let a row through (BigQuery's), by name in lower case.
        tags: the values of its own tags, by the tag's id, the first that was set first.
        column_tags: the same of its columns, by their keys.
        types: what was known of the columns when tags were set: the kind of type, by key.
        sealed: it is being replaced, and its policies with it: nobody reads it.
    """

    key: str
    name: str
    domain: Domain
    columns: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    masks: Mapping[str, Use] = field(default_factory=dict)
    rows: Mapping[str, Use] = field(default_factory=dict)
    had_rows: bool = False
    grants: Mapping[str, Use] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    column_tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    sealed: bool = False


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
        grants: privileges, and who owns what.
        functions: the policies that stand for a function, by domain and its name.
        made: who made each role.
        tags: by the id of the event that made them, dropped ones too.
        tag_names: the name in lower case to that id.
        carriers: the keys of the objects that ever had a tag, on themselves or on a column, by the tag's id.
        fresh: the tags whose carriers are this state's own.
    """

    policies: dict[str, Defined] = field(default_factory=dict)
    names: dict[tuple[Domain, str], str] = field(default_factory=dict)
    objects: dict[str, Protected] = field(default_factory=dict)
    by_object_id: dict[int, str] = field(default_factory=dict)
    roles: dict[str, frozenset[str]] = field(default_factory=dict)
    granted: dict[str, frozenset[str]] = field(default_factory=dict)
    grants: Grants = field(default_factory=Grants)
    made: dict[str, Made] = field(default_factory=dict)
    functions: dict[tuple[Domain, str], str] = field(default_factory=dict)
    tags: dict[str, Tag] = field(default_factory=dict)
    tag_names: dict[str, str] = field(default_factory=dict)
    carriers: dict[str, dict[str, None]] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set, repr=False, compare=False)

    def find(self, domain: Domain, name: str) -> tuple[str, Defined] | None:
        """A policy by its fully qualified name, with its id."""
        found = self.names.get((domain, name.casefold()))
        return None if found is None else (found, self.policies[found])

    def protected(self, relation: Relation) -> Protected | None:
        """What protects a relation; None for what nothing ever protected."""
        key = self.by_object_id.get(relation.object_id or 0)
        if key is None and relation.domain is Domain.VIEW:  # a table is none of what a view of its name was
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
        return any(
            identity in tags and _is(found.columns[key], wanted) for key, tags in found.column_tags.items()
        )

    def attachments(
        self, relation: Relation, changes: Changes = lambda _policy: None
    ) -> tuple[Attachment, ...]:
        """The policies in force on a relation, as lineage knows them; those that come through tags, too.

        Args:
            relation: a table or view.
            changes: says of a policy by its id whether it could change what a user sees; None for unknown.
        """
        found = self.protected(relation)
        schema = self._schema_of(relation)
        if found is None and schema is None:
            return ()
        names = {column.column_id: column.name for column in relation.columns if column.column_id is not None}
        known: Mapping[str, tuple[str, int]] = {} if found is None else found.columns

        def name_of(key: str) -> str:
            name, identity = known[key]
            return names.get(identity, name)

        masks = {} if found is None else self.masks(found)
        rows = () if found is None else found.rows.values()
        grants = () if found is None else tuple(found.grants.values())
        # Where one of BigQuery's lets all rows through, the others of the table hide none.
        open_to_all = any(changes(use.policy) is False for use in grants)
        uses = [
            *((use, changes(use.policy)) for use in rows),
            *((use, False if open_to_all else changes(use.policy)) for use in grants),
            *((use, changes(use.policy)) for use in masks.values()),
        ]
        attached = [
            Attachment(self.policies[use.policy].policy, tuple(map(name_of, use.columns)), could)
            for use, could in uses
        ]
        by_kind = self._by_kind(one.tags for one in (found, schema) if one is not None)
        masked = {name_of(key).casefold() for key in masks} if by_kind else set()
        for column in relation.columns if by_kind else ():
            policy = by_kind.get(kind_of(column.type)) if column.name.casefold() not in masked else None
            if policy is not None:
                attached.append(Attachment(self.policies[policy].policy, (column.name,), changes(policy)))
        return tuple(attached)

    def masks(self, protected: Protected) -> Mapping[str, Use]:
        """The masks of the columns of an object, by their keys, those through tags included.

        One set on the column by itself comes first, then those of the column's tags, then those of the
        object's (Snowflake, Tag-based masking policies: precedence). What its schema is tagged with, and
        columns that came after their table was tagged, are not among them: see `tagged_kinds`.
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
                found.setdefault(key, Use(policy, (key,)))
        return found

    def tagged_kinds(self, protected: Protected) -> Mapping[str, str]:
        """The masking policies of an object's own tags, by the kind of type that they mask."""
        return self._by_kind([protected.tags])

    def _by_kind(self, tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
        # Of two tags on one level the one that was set first masks: a column has one mask.
        found: dict[str, str] = {}
        for level in tags:
            for tag in level:
                for kind, policy in self.tags[tag].policies.items():
                    found.setdefault(kind, policy)
        return found

    def _schema_of(self, relation: Relation) -> Protected | None:
        if relation.domain is Domain.STAGE or relation.temporary:
            return None
        return self.objects.get(schema_key(quote_name(split_name(relation.name)[:-1])))

    def find_tag(self, name: str) -> tuple[str, Tag] | None:
        """A tag by its fully qualified name, with its id."""
        found = self.tag_names.get(name.casefold())
        return None if found is None else (found, self.tags[found])

    def tags_of(self, policy: str) -> list[Tag]:
        """The tags that a policy comes with."""
        return [tag for tag in self.tags.values() if policy in tag.policies.values()]

    def users_of(self, policy: str) -> list[Protected]:
        """What a policy protects."""
        return [
            one
            for one in self.objects.values()
            if policy in one.rows
            or any(use.policy == policy for use in (*one.masks.values(), *one.grants.values()))
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

    def held_by(self, holder: Holder) -> list[Holder]:
        """All that a role or a user is: itself, and the roles that it holds."""
        is_user = holder.kind == "USER"
        roles = self.roles_of(holder.name if is_user else "", () if is_user else [holder.name])
        return [holder, *(Holder("ROLE", role) for role in sorted(roles) if role != holder.name)]

    def holds(self, who: Who, privilege: str, on: Securable) -> bool:
        """Whether somebody may do what a privilege allows on an object."""
        return self.grants.holds(who, privilege, on)

    def owner(self, on: Securable) -> Holder:
        """Who owns an object; the administrators where nobody else is known to."""
        return self.grants.owner(on)


def schema_key(name: str) -> str:
    """The key of a schema by its fully qualified name."""
    return f"schema:{name.casefold()}"


def _is(column: tuple[str, int], wanted: tuple[str, int | None]) -> bool:
    return column[1] == wanted[1] or (wanted[1] is None and column[0].casefold() == wanted[0])


def folded(events: Iterable[Event], before: State | None = None) -> State:
    """What events lead to, oldest first; the state before stays as it is."""
    old = State() if before is None else before
    state = State(
        dict(old.policies), dict(old.names), dict(old.objects), dict(old.by_object_id), dict(old.roles),
        dict(old.granted), old.grants.copy(), dict(old.made), dict(old.functions), dict(old.tags),
        dict(old.tag_names), dict(old.carriers),
    )  # fmt: skip
    for event in events:
        if event.event not in _FOLDS:
            raise GovernanceError(
                f"event {event.event} of the governance is unknown to this version, which cannot enforce it",
                "install the version that has written it",
            )
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
    owner = event.role or event.user
    is_function = "function" in said
    made = Defined(policy, 1, event.time, event.time, owner, said.get("comment"), is_function)
    state.policies[event.event_id] = made
    if "function" in said:
        state.functions[domain, event.name.casefold()] = event.event_id
    else:
        state.names[domain, event.name.casefold()] = event.event_id


def _set_body(state: State, event: Event) -> None:
    known = state.policies[event.of_id or ""]
    given = event.details.get("parameters")
    parameters = known.policy.parameters if given is None else tuple(Column(*one) for one in given)
    returns = event.details.get("returns", known.policy.data_type)
    policy = replace(known.policy, body=event.details["body"], parameters=parameters, data_type=returns)
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
    state.grants.drop(f"policy:{event.of_id}")


# -- what they protect -------------------------------------------------------------------------


def _known(state: State, event: Event) -> Protected:
    return state.objects.get(event.object_key or "") or Protected(
        event.object_key or "", event.name, Domain(event.details["object_domain"])
    )


def _put(state: State, event: Event, known: Protected, **changed: Any) -> None:
    """An object as an event leaves it: under the name, and with the columns, that the event knows."""
    said = event.details
    told = {key: (name, identity) for key, name, identity, *_ in said.get("columns", ())}
    # Once for each event: of 100,000 tagged columns each is one.
    _keep(state, event, replace(known, name=event.name, columns={**known.columns, **told}, **changed))


def _keep(state: State, event: Event, protected: Protected) -> None:
    state.objects[protected.key] = protected
    identity = event.details.get("object_id")
    if identity is not None:
        state.by_object_id[identity] = protected.key


def _set_masking(state: State, event: Event) -> None:
    known = _known(state, event)
    keys = tuple(column[0] for column in event.details["columns"])
    _put(state, event, known, masks={**known.masks, keys[0]: Use(event.of_id or "", keys)})


def _unset_masking(state: State, event: Event) -> None:
    known = _known(state, event)
    gone = event.details["column"]
    _put(state, event, known, masks={key: use for key, use in known.masks.items() if key != gone})


def _add_rows(state: State, event: Event) -> None:
    known = _known(state, event)
    use = Use(event.of_id or "", tuple(column[0] for column in event.details["columns"]))
    _put(state, event, known, rows={**known.rows, use.policy: use}, had_rows=True)


def _drop_rows(state: State, event: Event) -> None:
    known = _known(state, event)
    kept = {policy: use for policy, use in known.rows.items() if policy != event.of_id}
    # What was put on by a statement that has failed never held.
    had_rows = event.details.get("had_rows", known.had_rows)
    _put(state, event, known, rows=kept, had_rows=had_rows)


def _grant_rows(state: State, event: Event) -> None:
    known = _known(state, event)
    use = Use(event.of_id or "", tuple(column[0] for column in event.details["columns"]))
    _put(state, event, known, grants={**known.grants, event.details["granted"]: use}, had_rows=True)


def _revoke_rows(state: State, event: Event) -> None:
    known = _known(state, event)
    kept = {name: use for name, use in known.grants.items() if name != event.details["granted"]}
    _put(state, event, known, grants=kept)
    # A clone may have the policy, too: it stays, and nobody finds it by name.
    policy = state.policies[event.of_id or ""].policy
    if state.names.get((policy.domain, policy.name.casefold())) == event.of_id:
        del state.names[policy.domain, policy.name.casefold()]


def _seal(state: State, event: Event) -> None:
    _put(state, event, _known(state, event), sealed=event.event == "SEAL")


def _copy(state: State, event: Event) -> None:
    """A clone is protected as its source was."""
    known, clone = state.objects[event.details["source"]], state.objects.get(event.object_key or "")
    had_rows = known.had_rows or (clone is not None and clone.had_rows)
    _keep(state, event, replace(known, key=event.object_key or "", name=event.name, had_rows=had_rows))
    for tags in (known.tags, *known.column_tags.values()):
        for tag in tags:
            _carry(state, tag, event.object_key or "")


# -- tags --------------------------------------------------------------------------------------


def _create_tag(state: State, event: Event) -> None:
    said = event.details
    allowed = None if said.get("allowed") is None else tuple(said["allowed"])
    identity = object_id(Domain.TAG.value, event.event_id)
    owner = event.role or event.user
    state.tags[event.event_id] = Tag(
        event.name, identity, allowed, {}, event.time, owner, said.get("comment")
    )
    state.tag_names[event.name.casefold()] = event.event_id


def _change_tag(state: State, event: Event) -> None:
    """What the details name is as they say."""
    said = dict(event.details)
    if said.get("allowed") is not None:
        said["allowed"] = tuple(said["allowed"])
    state.tags[event.of_id or ""] = replace(state.tags[event.of_id or ""], **said)


def _rename_tag(state: State, event: Event) -> None:
    identity = event.of_id or ""
    del state.tag_names[state.tags[identity].name.casefold()]
    state.tag_names[event.name.casefold()] = identity
    state.tags[identity] = replace(state.tags[identity], name=event.name)


def _drop_tag(state: State, event: Event) -> None:
    identity = event.of_id or ""
    del state.tag_names[state.tags[identity].name.casefold()]
    # The last to be dropped is the first that UNDROP finds.
    state.tags[identity] = replace(state.tags.pop(identity), dropped=True)


def _undrop_tag(state: State, event: Event) -> None:
    identity = event.of_id or ""
    state.tags[identity] = replace(state.tags[identity], dropped=False)
    state.tag_names[event.name.casefold()] = identity


def _set_tag(state: State, event: Event) -> None:
    known, tag, said = _known(state, event), event.of_id or "", event.details
    types = {**known.types, **{key: kind_of(kind) for key, _, _, kind in said.get("columns", ())}}
    column = said.get("column")
    if column is None:
        _put(state, event, known, types=types, tags={**known.tags, tag: said["value"]})
    else:
        tags = {**known.column_tags.get(column, {}), tag: said["value"]}
        _put(state, event, known, types=types, column_tags={**known.column_tags, column: tags})
    _carry(state, tag, known.key)


def _unset_tag(state: State, event: Event) -> None:
    known, column = _known(state, event), event.details.get("column")
    if column is None:
        _put(state, event, known, tags=_without(known.tags, event.of_id))
        return
    tags = _without(known.column_tags[column], event.of_id)
    others = {key: one for key, one in known.column_tags.items() if key != column}
    _put(state, event, known, column_tags={**others, column: tags} if tags else others)


def _without(tags: Mapping[str, str], gone: str | None) -> dict[str, str]:
    return {tag: value for tag, value in tags.items() if tag != gone}


def _carry(state: State, tag: str, key: str) -> None:
    known = state.carriers.get(tag, {})
    if key not in known:
        if tag not in state.fresh:  # the state before has this very dict
            state.fresh.add(tag)
            known = state.carriers[tag] = dict(known)
        known[key] = None


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
    state.grants.drop_role(event)


def _comment_role(state: State, event: Event) -> None:
    state.made[event.name] = replace(state.made[event.name], comment=event.details["comment"])


def _grant_role(state: State, event: Event) -> None:
    held = _holders(state, event)
    held[event.details["grantee"]] = held.get(event.details["grantee"], frozenset()) | {event.name}
    state.grants.join(event)


def _revoke_role(state: State, event: Event) -> None:
    held = _holders(state, event)
    held[event.details["grantee"]] = held.get(event.details["grantee"], frozenset()) - {event.name}
    state.grants.leave(event)


def _holders(state: State, event: Event) -> dict[str, frozenset[str]]:
    return state.roles if event.details["to"] == "ROLE" else state.granted


_FOLDS: Mapping[str, Callable[[State, Event], None]] = {
    "CREATE_POLICY": _create_policy,
    "SET_BODY": _set_body,
    "SET_COMMENT": _set_comment,
    "RENAME_POLICY": _rename_policy,
    "DROP_POLICY": _drop_policy,
    "SET_MASKING_POLICY": _set_masking,
    "UNSET_MASKING_POLICY": _unset_masking,
    "ADD_ROW_ACCESS_POLICY": _add_rows,
    "DROP_ROW_ACCESS_POLICY": _drop_rows,
    "GRANT_ROWS": _grant_rows,
    "REVOKE_ROWS": _revoke_rows,
    "COPY_POLICIES": _copy,
    "SEAL": _seal,
    "UNSEAL": _seal,
    "CREATE_TAG": _create_tag,
    "CHANGE_TAG": _change_tag,
    "RENAME_TAG": _rename_tag,
    "DROP_TAG": _drop_tag,
    "UNDROP_TAG": _undrop_tag,
    "SET_TAG": _set_tag,
    "UNSET_TAG": _unset_tag,
    "CREATE_ROLE": _create_role,
    "DROP_ROLE": _drop_role,
    "SET_ROLE_COMMENT": _comment_role,
    "GRANT_ROLE": _grant_role,
    "REVOKE_ROLE": _revoke_role,
    "GRANT_PRIVILEGES": lambda state, event: state.grants.grant(event),
    "REVOKE_PRIVILEGES": lambda state, event: state.grants.revoke(event),
    "GRANT_OWNERSHIP": lambda state, event: state.grants.own(event),
    "CREATE_OBJECT": lambda state, event: state.grants.make(event),
}

__all__ = ["ADMIN", "PUBLIC", "Defined", "Protected", "State", "Use", "folded"]
