"""Applies events to the state of governance: one function for each kind of event.

In: events, oldest first, and the `GovernanceState` before them. Out: the next `GovernanceState`, which shares
unchanged parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from audit.policies.errors import GovernanceError
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.governed_objects import PolicyUse, ProtectedObject, RoleRecord, StoredPolicy, Tag
from audit.policies.model.state import GovernanceState
from audit.policies.model.types import kind_of
from lineage.catalog.object_ids import object_id
from lineage.model import Column, Domain, Policy

Events = Sequence[GovernanceEvent]


def state_after(events: Iterable[GovernanceEvent], before: GovernanceState | None = None) -> GovernanceState:
    """The state that events lead to, oldest first; the state before stays as it is."""
    old = GovernanceState() if before is None else before
    # Shallow copies: values are immutable, and a state of 100,000 objects is copied in milliseconds.
    state = GovernanceState(
        dict(old.policies), dict(old.names), dict(old.objects), dict(old.by_object_id), dict(old.roles),
        dict(old.granted), old.grants.copy(), dict(old.role_records), dict(old.functions), dict(old.tags),
        dict(old.tag_names), dict(old.carriers),
    )  # fmt: skip
    for event in events:
        _apply(state, event)
    return state


def each_state_after(changes: Iterable[Events]) -> Iterator[tuple[Events, GovernanceState]]:
    """Each change, oldest first, with the state after it: one value, which the next step changes.

    >>> made = GovernanceEvent(1, "CREATE_ROLE", "e", name="HR")
    >>> [sorted(state.roles) for _, state in each_state_after([[made]])]
    [['HR']]
    """
    # A copy a step would make 100,000 events of 100,000 objects a matter of hours.
    state = GovernanceState()
    for events in changes:
        for event in events:
            _apply(state, event)
        yield events, state


def _apply(state: GovernanceState, event: GovernanceEvent) -> None:
    # A newer driver may have written it; ignoring it could leave data unprotected.
    if event.event not in _APPLY:
        raise GovernanceError(
            f"event {event.event} of the governance is unknown to this version, which cannot enforce it",
            "install the version that has written it",
        )
    _APPLY[event.event](state, event)


# -- policies ----------------------------------------------------------------------------------


def _create_policy(state: GovernanceState, event: GovernanceEvent) -> None:
    details = event.details
    domain = Domain(details["domain"])
    columns = tuple(Column(name, kind) for name, kind in details["parameters"])
    policy = Policy(
        event.name,
        domain,
        details["body"],
        columns,
        # From the event: every driver computes the same id, and a rename keeps it.
        object_id(domain.value, event.event_id),
        details["returns"],
    )
    owner = event.role or event.user
    is_function = "function" in details
    made = StoredPolicy(policy, 1, event.time, event.time, owner, details.get("comment"), is_function)
    state.policies[event.event_id] = made
    # A function and a policy may have the same name.
    if "function" in details:
        state.functions[domain, event.name.casefold()] = event.event_id
    else:
        state.names[domain, event.name.casefold()] = event.event_id


def _set_body(state: GovernanceState, event: GovernanceEvent) -> None:
    known = state.policies[event.of_id or ""]
    # Only a replaced function changes its parameters; ALTER … SET BODY changes the body alone.
    given = event.details.get("parameters")
    parameters = known.policy.parameters if given is None else tuple(Column(*one) for one in given)
    returns = event.details.get("returns", known.policy.data_type)
    policy = replace(known.policy, body=event.details["body"], parameters=parameters, data_type=returns)
    state.policies[event.of_id or ""] = replace(
        known, policy=policy, version=known.version + 1, changed=event.time
    )


def _set_comment(state: GovernanceState, event: GovernanceEvent) -> None:
    known = state.policies[event.of_id or ""]
    state.policies[event.of_id or ""] = replace(known, comment=event.details["comment"], changed=event.time)


def _rename_policy(state: GovernanceState, event: GovernanceEvent) -> None:
    identity = event.of_id or ""
    known = state.policies[identity]
    del state.names[known.policy.domain, known.policy.name.casefold()]
    state.names[known.policy.domain, event.name.casefold()] = identity
    # Objects refer to a policy by its id, so a rename leaves them as they are.
    policy = replace(known.policy, name=event.name)
    state.policies[identity] = replace(known, policy=policy, changed=event.time)


def _drop_policy(state: GovernanceState, event: GovernanceEvent) -> None:
    # It is set on nothing: dropping a policy in use is refused before.
    gone = state.policies.pop(event.of_id or "").policy
    del state.names[gone.domain, gone.name.casefold()]
    # A dropped policy cannot be restored, so its grants are gone.
    state.grants.forget(f"policy:{event.of_id}")


# -- protected objects -------------------------------------------------------------------------


def _known(state: GovernanceState, event: GovernanceEvent) -> ProtectedObject:
    return state.objects.get(event.object_key or "") or ProtectedObject(
        event.object_key or "", event.name, Domain(event.details["object_domain"])
    )


def _put(state: GovernanceState, event: GovernanceEvent, known: ProtectedObject, **changed: Any) -> None:
    """Replaces an object by what an event makes of it, with the event's name and columns."""
    details = event.details
    told = {key: (name, identity) for key, name, identity, *_ in details.get("columns", ())}
    # Once for each event: of 100,000 tagged columns each is one.
    _keep(state, event, replace(known, name=event.name, columns={**known.columns, **told}, **changed))


def _keep(state: GovernanceState, event: GovernanceEvent, protected: ProtectedObject) -> None:
    state.objects[protected.key] = protected
    identity = event.details.get("object_id")
    if identity is not None:
        state.by_object_id[identity] = protected.key


def _set_masking(state: GovernanceState, event: GovernanceEvent) -> None:
    known = _known(state, event)
    keys = tuple(column[0] for column in event.details["columns"])
    _put(state, event, known, masks={**known.masks, keys[0]: PolicyUse(event.of_id or "", keys)})


def _unset_masking(state: GovernanceState, event: GovernanceEvent) -> None:
    known = _known(state, event)
    gone = event.details["column"]
    _put(state, event, known, masks={key: use for key, use in known.masks.items() if key != gone})


def _add_rows(state: GovernanceState, event: GovernanceEvent) -> None:
    known = _known(state, event)
    use = PolicyUse(event.of_id or "", tuple(column[0] for column in event.details["columns"]))
    # For good: the history of a table that has, or had, row access policies is for administrators alone
    # (BigQuery, Data retention: time travel and row-level access).
    _put(state, event, known, rows={**known.rows, use.policy: use}, had_rows=True)


def _drop_rows(state: GovernanceState, event: GovernanceEvent) -> None:
    known = _known(state, event)
    kept = {policy: use for policy, use in known.rows.items() if policy != event.of_id}
    # A failed statement undoes its own event: the policy was never in force.
    had_rows = event.details.get("had_rows", known.had_rows)
    _put(state, event, known, rows=kept, had_rows=had_rows)


def _grant_rows(state: GovernanceState, event: GovernanceEvent) -> None:
    known = _known(state, event)
    use = PolicyUse(event.of_id or "", tuple(column[0] for column in event.details["columns"]))
    _put(state, event, known, grants={**known.grants, event.details["granted"]: use}, had_rows=True)


def _revoke_rows(state: GovernanceState, event: GovernanceEvent) -> None:
    known = _known(state, event)
    kept = {name: use for name, use in known.grants.items() if name != event.details["granted"]}
    _put(state, event, known, grants=kept)
    # A clone may have the policy, too: it stays, and nobody finds it by name.
    policy = state.policies[event.of_id or ""].policy
    if state.names.get((policy.domain, policy.name.casefold())) == event.of_id:
        del state.names[policy.domain, policy.name.casefold()]


def _seal(state: GovernanceState, event: GovernanceEvent) -> None:
    _put(state, event, _known(state, event), sealed=event.event == "SEAL")


def _copy(state: GovernanceState, event: GovernanceEvent) -> None:
    """A clone is protected as its source was."""
    known, clone = state.objects[event.details["source"]], state.objects.get(event.object_key or "")
    # Old versions of a replaced clone stay readable, so its history counts.
    had_rows = known.had_rows or (clone is not None and clone.had_rows)
    _keep(state, event, replace(known, key=event.object_key or "", name=event.name, had_rows=had_rows))
    # A clone gets its tags without events SET_TAG, which otherwise note the carriers.
    for tags in (known.tags, *known.column_tags.values()):
        for tag in tags:
            _carry(state, tag, event.object_key or "")


# -- tags --------------------------------------------------------------------------------------


def _create_tag(state: GovernanceState, event: GovernanceEvent) -> None:
    details = event.details
    allowed = None if details.get("allowed") is None else tuple(details["allowed"])
    identity = object_id(Domain.TAG.value, event.event_id)
    owner = event.role or event.user
    state.tags[event.event_id] = Tag(
        event.name, identity, allowed, {}, event.time, owner, details.get("comment")
    )
    state.tag_names[event.name.casefold()] = event.event_id


def _change_tag(state: GovernanceState, event: GovernanceEvent) -> None:
    """Sets the attributes that the details name."""
    details = dict(event.details)
    if details.get("allowed") is not None:
        details["allowed"] = tuple(details["allowed"])
    state.tags[event.of_id or ""] = replace(state.tags[event.of_id or ""], **details)


def _rename_tag(state: GovernanceState, event: GovernanceEvent) -> None:
    identity = event.of_id or ""
    del state.tag_names[state.tags[identity].name.casefold()]
    state.tag_names[event.name.casefold()] = identity
    state.tags[identity] = replace(state.tags[identity], name=event.name)


def _drop_tag(state: GovernanceState, event: GovernanceEvent) -> None:
    identity = event.of_id or ""
    del state.tag_names[state.tags[identity].name.casefold()]
    # The last to be dropped is the first that UNDROP finds.
    state.tags[identity] = replace(state.tags.pop(identity), dropped=True)


def _undrop_tag(state: GovernanceState, event: GovernanceEvent) -> None:
    identity = event.of_id or ""
    state.tags[identity] = replace(state.tags[identity], dropped=False)
    state.tag_names[event.name.casefold()] = identity


def _set_tag(state: GovernanceState, event: GovernanceEvent) -> None:
    known, tag, details = _known(state, event), event.of_id or "", event.details
    # As of this event: a column that is added later is masked by `GovernanceState.tagged_kinds`.
    types = {**known.types, **{key: kind_of(kind) for key, _, _, kind in details.get("columns", ())}}
    column = details.get("column")
    if column is None:
        _put(state, event, known, types=types, tags={**known.tags, tag: details["value"]})
    else:
        tags = {**known.column_tags.get(column, {}), tag: details["value"]}
        _put(state, event, known, types=types, column_tags={**known.column_tags, column: tags})
    _carry(state, tag, known.key)


def _unset_tag(state: GovernanceState, event: GovernanceEvent) -> None:
    known, column = _known(state, event), event.details.get("column")
    if column is None:
        _put(state, event, known, tags=_without(known.tags, event.of_id))
        return
    tags = _without(known.column_tags[column], event.of_id)
    others = {key: one for key, one in known.column_tags.items() if key != column}
    _put(state, event, known, column_tags={**others, column: tags} if tags else others)


def _without(tags: Mapping[str, str], gone: str | None) -> dict[str, str]:
    return {tag: value for tag, value in tags.items() if tag != gone}


def _carry(state: GovernanceState, tag: str, key: str) -> None:
    known = state.carriers.get(tag, {})
    if key not in known:
        if tag not in state.fresh:  # the state before has this very dict
            state.fresh.add(tag)
            known = state.carriers[tag] = dict(known)
        known[key] = None


# -- roles -------------------------------------------------------------------------------------


def _create_role(state: GovernanceState, event: GovernanceEvent) -> None:
    # OR REPLACE drops the role first, by an event of its own.
    state.roles[event.name] = frozenset()
    owner = event.role or event.user
    state.role_records[event.name] = RoleRecord(event.time, owner, event.details.get("comment"))


def _drop_role(state: GovernanceState, event: GovernanceEvent) -> None:
    gone = frozenset({event.name})
    state.roles.pop(event.name)
    state.role_records.pop(event.name)
    state.roles |= {role: granted_roles - gone for role, granted_roles in state.roles.items()}
    state.granted |= {user: granted_roles - gone for user, granted_roles in state.granted.items()}
    state.grants.drop_role(event)


def _comment_role(state: GovernanceState, event: GovernanceEvent) -> None:
    state.role_records[event.name] = replace(state.role_records[event.name], comment=event.details["comment"])


def _grant_role(state: GovernanceState, event: GovernanceEvent) -> None:
    granted_roles = _holders(state, event)
    granted_roles[event.details["grantee"]] = granted_roles.get(event.details["grantee"], frozenset()) | {
        event.name
    }
    state.grants.grant_role(event)


def _revoke_role(state: GovernanceState, event: GovernanceEvent) -> None:
    granted_roles = _holders(state, event)
    granted_roles[event.details["grantee"]] = granted_roles.get(event.details["grantee"], frozenset()) - {
        event.name
    }
    state.grants.revoke_role(event)


def _holders(state: GovernanceState, event: GovernanceEvent) -> dict[str, frozenset[str]]:
    return state.roles if event.details["to"] == "ROLE" else state.granted


_APPLY: Mapping[str, Callable[[GovernanceState, GovernanceEvent], None]] = {
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
    "GRANT_PRIVILEGES": lambda state, event: state.grants.grant_privileges(event),
    "REVOKE_PRIVILEGES": lambda state, event: state.grants.revoke_privileges(event),
    "GRANT_OWNERSHIP": lambda state, event: state.grants.grant_ownership(event),
    "CREATE_OBJECT": lambda state, event: state.grants.create_object(event),
    "DROP_OBJECT": lambda state, event: state.grants.forget(event.object_key or ""),
}
