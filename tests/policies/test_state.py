"""The governance as a value: events in, what protects what out; no Spark."""

from __future__ import annotations

from audit.policies.model.apply_events import state_after
from audit.policies.model.events import COLUMNS, GovernanceEvent, event_of, row_of
from audit.policies.model.privileges import PUBLIC
from lineage.catalog.object_ids import column_id, object_id
from lineage.model import Column, Domain, Relation

TABLE = object_id("TABLE", "u-1")
SSN = column_id(TABLE, "ssn")


def _policy(identity, name, domain=Domain.MASKING_POLICY):
    details = {
        "domain": domain.value, "body": "'***'", "parameters": [["val", "STRING"]], "returns": "STRING",
    }  # fmt: skip
    return GovernanceEvent(1, "CREATE_POLICY", identity, name=name, details=details)


def _put(kind, policy, key="delta:u-1", name="c.s.t"):
    details = {
        "object_domain": "Table", "object_id": TABLE, "columns": [["ssn", "ssn", SSN]], "column": "ssn",
    }  # fmt: skip
    return GovernanceEvent(2, kind, f"{kind}-{policy}", policy, key, name, details=details)


def _relation(name="c.s.t", column="ssn", identity=TABLE):
    return Relation(name, Domain.TABLE, identity, (Column(column, "string", SSN),))


def _names(state, relation):
    return [(one.policy.name, one.columns) for one in state.attachments(relation)]


def test_protection_follows_the_table_and_its_columns():
    """By Delta's id and the column's, whatever they are called now."""
    state = state_after([_policy("p", "c.g.m"), _put("SET_MASKING_POLICY", "p")])
    assert _names(state, _relation()) == [("c.g.m", ("ssn",))]
    assert _names(state, _relation("c.s.renamed", "number")) == [("c.g.m", ("number",))]
    assert _names(state, _relation(identity=object_id("TABLE", "u-2"))) == []


def test_a_rename_keeps_what_a_policy_protects():
    """Uses know it by its id; the old name is free again."""
    state = state_after([_policy("p", "c.g.m"), _put("SET_MASKING_POLICY", "p")])
    state = state_after([GovernanceEvent(3, "RENAME_POLICY", "e", "p", name="c.g.new")], state)
    assert _names(state, _relation()) == [("c.g.new", ("ssn",))]
    assert state.find(Domain.MASKING_POLICY, "c.g.m") is None


def test_a_state_is_never_changed():
    """What a statement met stays what it was."""
    before = state_after([_policy("p", "c.g.m"), _put("SET_MASKING_POLICY", "p")])
    after = state_after([_put("UNSET_MASKING_POLICY", "p")], before)
    assert (len(_names(before, _relation())), len(_names(after, _relation()))) == (1, 0)


def test_row_access_that_was():
    """A table remembers that it had a policy; so does its clone."""
    rows = _policy("r", "c.g.r", Domain.ROW_ACCESS_POLICY)
    state = state_after([rows, _put("ADD_ROW_ACCESS_POLICY", "r"), _put("DROP_ROW_ACCESS_POLICY", "r")])
    assert state.objects["delta:u-1"].had_rows
    assert _names(state, _relation()) == []
    details = {"source": "delta:u-1", "object_id": object_id("TABLE", "u-2")}
    state = state_after(
        [GovernanceEvent(4, "COPY_POLICIES", "c", None, "delta:u-2", "c.s.t", details=details)], state
    )
    assert state.objects["delta:u-2"].had_rows


def test_roles_hold_roles():
    """What is granted to a role its holders have; roles that are given stand for those granted."""
    events = [GovernanceEvent(1, "CREATE_ROLE", name, name=name) for name in ("A", "B", "C")]
    events += [
        GovernanceEvent(2, "GRANT_ROLE", "1", name="A", details={"to": "ROLE", "grantee": "B"}),
        GovernanceEvent(2, "GRANT_ROLE", "2", name="B", details={"to": "USER", "grantee": "zoe"}),
    ]
    state = state_after(events)
    assert state.roles_of("zoe", ()) == {"A", "B", PUBLIC}
    assert state.roles_of("zoe", ["c"]) == {"C", PUBLIC}
    assert state.roles_of("eve", ()) == {PUBLIC}
    state = state_after([GovernanceEvent(3, "DROP_ROLE", "3", name="A")], state)
    assert state.roles_of("zoe", ()) == {"B", PUBLIC}


def test_rows_and_back():
    """An event is the same after its row."""

    class Row:
        def __init__(self, names, values):
            self.__dict__.update(zip(names, values, strict=True))

    event = _put("SET_MASKING_POLICY", "p")
    assert event_of(Row([name for name, _, _ in COLUMNS], row_of(7, event))) == event
