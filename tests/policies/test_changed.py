"""What a change of the governance comes to for the enforcement rule."""

from __future__ import annotations

from audit.policies.model.apply_events import state_after
from audit.policies.model.changed import StateChanges
from audit.policies.model.events import GovernanceEvent
from lineage.model import Domain

TAG = GovernanceEvent(1, "CREATE_TAG", "t1", None, None, "c.s.tag", "ann", None, None, {})
MASK = GovernanceEvent(
    2, "CREATE_POLICY", "p1", None, None, "c.s.mask", "ann", None, None,
    {
        "domain": Domain.MASKING_POLICY.value, "body": "Invoker_Role()", "parameters": [["v", "STRING"]],
        "returns": "STRING",
    },
)  # fmt: skip
ON_TABLE = GovernanceEvent(
    3, "SET_TAG", "e3", "t1", "delta:7", "c.s.t", "ann", None, None,
    {"object_domain": Domain.TABLE.value, "value": "x", "columns": []},
)  # fmt: skip
ROLE = GovernanceEvent(4, "CREATE_ROLE", "r1", None, None, "R", "ann", None, None, {})
GRANT = GovernanceEvent(
    5, "GRANT_PRIVILEGES", "g1", None, "delta:7", "c.s.t", "ann", None, None,
    {
        "privileges": ["SELECT"], "to": "ROLE", "grantee": "R", "as_whom": ["USER", "ann"], "option": False,
        "domain": Domain.TABLE.value,
    },
)  # fmt: skip


def test_a_policy_of_a_tag_reaches_what_carries_the_tag():
    """The tag itself names no object; its carriers are masked otherwise."""
    events = [TAG, MASK, ON_TABLE]
    change = GovernanceEvent(
        6, "CHANGE_TAG", "e6", "t1", None, "c.s.tag", "ann", None, None, {"policies": {"string": "p1"}}
    )
    changed = StateChanges.from_events([change], state_after([*events, change]))
    assert changed == StateChanges(frozenset(), frozenset({"delta:7"}), frozenset(), has_roles=False)


def test_a_dropped_policy_is_among_the_changed_ones():
    """It is no longer in the state, and the rule has to forget it."""
    drop = GovernanceEvent(7, "DROP_POLICY", "e7", "p1", None, "c.s.mask", "ann", None, None, {})
    changed = StateChanges.from_events([drop], state_after([MASK, drop]))
    assert changed.policies == {"p1"}
    assert not changed.asks_for_creators(state_after([MASK, drop]))


def test_a_body_that_asks_for_the_role_of_the_invoker_asks_for_creators():
    """However it is written."""
    assert StateChanges.from_events([MASK], state_after([MASK])).asks_for_creators(state_after([MASK]))


def test_a_dropped_role_changes_the_grants_of_all_objects():
    """Whatever was granted to it is granted no longer."""
    events = [TAG, ON_TABLE, ROLE, GRANT]
    drop = GovernanceEvent(8, "DROP_ROLE", "e8", None, None, "R", "ann", None, None, {})
    before = state_after(events)
    changed = StateChanges.from_events([drop], before)
    assert changed.has_roles
    assert "delta:7" in changed.grants
