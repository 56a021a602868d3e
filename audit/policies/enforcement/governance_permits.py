"""Which privilege each governance event needs.

In: the events of a statement, the state before it, its user. Out: nothing, or a refusal before anything is
done. Rules are those of Snowflake's CREATE MASKING POLICY, ALTER TABLE … SET MASKING POLICY,
CREATE TAG and ALTER TAG (access control requirements); BigQuery's row access policies are for whoever owns
the table. Roles are for administrators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from audit.policies.errors import AccessDeniedError
from audit.policies.model.apply_events import state_after
from audit.policies.model.governed_objects import schema_key
from audit.policies.model.grants import ACCOUNT
from audit.policies.model.privileges import OWNERSHIP, Holder, ObjectCreation, Principal, Securable, noun_of
from audit.policies.model.state import GovernanceState
from lineage.model import Domain, Policy
from lineage.names import quote_name, split_name

if TYPE_CHECKING:
    from audit.policies.model.events import GovernanceEvent
    from audit.policies.model.governed_objects import StoredPolicy, Tag
    from audit.policies.statements.set_tag import PolicyReads

_APPLIED = {
    "SET_MASKING_POLICY": "APPLY MASKING POLICY",
    "UNSET_MASKING_POLICY": "APPLY MASKING POLICY",
    "ADD_ROW_ACCESS_POLICY": "APPLY ROW ACCESS POLICY",
    "DROP_ROW_ACCESS_POLICY": "APPLY ROW ACCESS POLICY",
    "GRANT_ROWS": "APPLY ROW ACCESS POLICY",
    "REVOKE_ROWS": "APPLY ROW ACCESS POLICY",
    "SET_TAG": "APPLY TAG",
    "UNSET_TAG": "APPLY TAG",
}
_OF_TABLES = frozenset({"GRANT_ROWS", "REVOKE_ROWS"})
_OF_TAGS = frozenset({"CHANGE_TAG", "RENAME_TAG", "DROP_TAG", "UNDROP_TAG"})


class Permits:
    """The privileges of a user on policies, tags, roles and the objects they are set on.

    Args:
        who: the user.
        state: before the statement.
        target: the object that policies or tags are set on; called only where its owner matters.
        reads: the keys of what the body of a policy reads.
    """

    def __init__(
        self, who: Principal, state: GovernanceState, target: Callable[[], Securable], reads: PolicyReads
    ) -> None:
        self._who = who
        self._state = state
        self._target = target
        self._reads = reads

    def require(self, events: Iterable[GovernanceEvent]) -> None:
        """Refuse events that the user has no privilege for.

        Raises:
            AccessDeniedError: a privilege is missing, or a policy would read tables on behalf of everybody.
        """
        if self._who.is_admin:
            return
        now = self._state
        for event in events:
            # A clause may be about what an earlier clause of the statement has created.
            after = state_after([event], now)
            self._require(event, now, after)
            now = after

    def _require(self, event: GovernanceEvent, now: GovernanceState, after: GovernanceState) -> None:
        kind, of_id = event.event, event.of_id or ""
        # A body reads its tables for every user, whatever their privileges, so CREATE is not enough.
        if kind in ("CREATE_POLICY", "SET_BODY"):
            self._require_reads_nothing(after.policies[event.of_id or event.event_id].policy)
        if kind in _APPLIED:
            self._require_apply(event, now)
        elif kind == "CREATE_POLICY":
            self._require_to_create(after.policies[event.event_id], event)
        elif kind == "CREATE_TAG":
            self._holds("CREATE TAG", schema_of(event.name), f"create tag {event.name}")
        elif kind in _OF_TAGS:
            self._holds(OWNERSHIP, tag_securable(of_id, now.tags[of_id]), f"change tag {event.name}")
            # The policies of a tag mask every column that has the tag, whoever owns the table.
            if "policies" in event.details:
                self._holds("APPLY MASKING POLICY", ACCOUNT, f"change the policies of tag {event.name}")
        else:
            known = now.policies[of_id]
            noun = noun_of(known.policy.domain)
            self._holds(OWNERSHIP, policy_securable(of_id, known), f"change {noun} {known.policy.name}")
        # The new name may lie in another schema.
        if kind in ("RENAME_POLICY", "RENAME_TAG"):
            self._holds(_creation(after, event), schema_of(event.name), f"rename it to {event.name}")

    def _require_to_create(self, defined: StoredPolicy, event: GovernanceEvent) -> None:
        """CREATE, unless the policy stands for a function or belongs to a table: setting it creates it."""
        if not defined.function and len(split_name(event.name)) <= len(("catalog", "schema", "policy")):
            noun = noun_of(defined.policy.domain)
            self._holds(f"CREATE {noun.upper()}", schema_of(event.name), f"create {noun} {event.name}")

    def _require_apply(self, event: GovernanceEvent, now: GovernanceState) -> None:
        """APPLY on the account; or OWNERSHIP of the object, and APPLY on the policy or tag."""
        privilege, of_id = _APPLIED[event.event], event.of_id or ""
        if now.holds(self._who, privilege, ACCOUNT):
            return
        target = self._target()
        what = f"change what protects {target}" if privilege != "APPLY TAG" else f"tag {target}"
        if not now.holds(self._who, OWNERSHIP, target):
            raise self._denied(what, privilege, ACCOUNT)
        # The policy belongs to the table, so the table's owner needs no APPLY on it.
        if event.event in _OF_TABLES:
            return
        known = now.policies.get(of_id)
        # A policy of a function is no object that APPLY could be granted on.
        if known is not None and known.function:
            raise self._denied(what, privilege, ACCOUNT)
        on = tag_securable(of_id, now.tags[of_id]) if known is None else policy_securable(of_id, known)
        self._holds("APPLY", on, what)

    def _require_reads_nothing(self, policy: Policy) -> None:
        """Let only administrators create policies that read tables: they read them without privileges."""
        if self._reads(policy):
            raise AccessDeniedError(
                f"{self._who.user} may not make policy {policy.name}: it reads tables or calls functions, on"
                " behalf of whoever is behind it",
                "let an administrator create it (role ACCOUNTADMIN), or write it without",
            )

    def _holds(self, privilege: str, on: Securable, what: str) -> None:
        if not self._state.holds(self._who, privilege, on):
            raise self._denied(what, privilege, on)

    def _denied(self, what: str, privilege: str, on: Securable) -> AccessDeniedError:
        place = f"{on.domain.value.upper()} {on.name}".strip()
        return AccessDeniedError(
            f"{self._who.user} may not {what}: {privilege} is missing on {on}",
            f"GRANT {privilege} ON {place} TO USER {self._who.user}, or to a role of theirs",
        )


def schema_securable(name: str) -> Securable:
    """A schema, by its fully qualified name."""
    return Securable(schema_key(name), Domain.SCHEMA, name, (ACCOUNT,))


def schema_of(name: str) -> Securable:
    """The schema of what has a fully qualified name."""
    return schema_securable(quote_name(split_name(name)[:-1]))


def policy_securable(identity: str, defined: StoredPolicy) -> Securable:
    """A policy, by the event that created it."""
    policy = defined.policy
    return _securable(f"policy:{identity}", policy.domain, policy.name, defined.created, defined.owner)


def tag_securable(identity: str, tag: Tag) -> Securable:
    """A tag, by the event that created it."""
    return _securable(f"tag:{identity}", Domain.TAG, tag.name, tag.created, tag.owner)


def _securable(key: str, domain: Domain, name: str, created: int, owner: str | None) -> Securable:
    made = None if owner is None else ObjectCreation(created, Holder("USER", owner))
    return Securable(key, domain, name, (schema_of(name), ACCOUNT), made)


def _creation(state: GovernanceState, event: GovernanceEvent) -> str:
    if event.event == "RENAME_TAG":
        return "CREATE TAG"
    return f"CREATE {noun_of(state.policies[event.of_id or ''].policy.domain).upper()}"
