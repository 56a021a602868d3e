"""The field policies_referenced of objects that no text has named: those of a stream, or of a DataFrame."""

from __future__ import annotations

import pytest

from lineage.model import AccessedObject, Attachment, Column, Domain, Policy
from lineage.statements.policies_referenced import policies_of_objects

MASK = Policy("c.s.m", Domain.MASKING_POLICY, "'*'", (Column("v", "STRING"),), 5)
ROWS = Policy("c.s.r", Domain.ROW_ACCESS_POLICY, "n > 1", (Column("n", "INT"),), 6)
SET_ON_T = (Attachment(MASK, ("a",)), Attachment(ROWS, ("b",)))


def referenced(*objects, attached=SET_ON_T):
    """The names of policies by object and place, as the record has them."""
    found = policies_of_objects(objects, lambda one: attached if one.name == "c.s.t" else ())
    return {
        item["objectName"]: (
            {c["columnName"]: [p["policyName"] for p in c["policies"]] for c in item.get("columns", ())},
            [p["policyName"] for p in item.get("policies", ())],
        )
        for item in found
    }


@pytest.mark.parametrize(
    ("columns", "masked"),
    [(("a",), {"a": ["c.s.m"]}), (("A", "b"), {"A": ["c.s.m"]}), (("b",), {}), ((), {})],
)
def test_a_mask_counts_where_its_column_was_accessed_and_a_row_policy_always(columns, masked):
    """The access-history document: enforced policies of the column, and of the table."""
    read = AccessedObject("c.s.t", Domain.TABLE, columns=tuple(map(Column, columns)))
    assert referenced(read) == {"c.s.t": (masked, ["c.s.r"])}


def test_an_object_without_a_policy_at_work_is_not_listed():
    """Neither one that has none, nor one of which no masked column was read."""
    plain = AccessedObject("c.s.u", Domain.TABLE, columns=(Column("a"),))
    unused = AccessedObject("c.s.t", Domain.TABLE, columns=(Column("b"),))
    assert referenced(plain, unused, attached=SET_ON_T[:1]) == {}


def test_an_entry_has_the_fields_of_the_document():
    """The policy's name, id and kind, the column's and the object's; empty fields are left out."""
    read = AccessedObject("c.s.t", Domain.VIEW, 3, (Column("a", "", 8),))
    (item,) = policies_of_objects([read], lambda _: SET_ON_T)
    assert {k: item[k] for k in ("objectDomain", "objectId", "objectName")} == {
        "objectDomain": "VIEW",
        "objectId": 3,
        "objectName": "c.s.t",
    }
    (column,) = item["columns"]
    assert (column["columnId"], column["columnName"]) == (8, "a")
    one, two = column["policies"][0], item["policies"][0]
    assert (one["policyName"], one["policyId"], one["policyKind"]) == ("c.s.m", 5, "MASKING_POLICY")
    assert (two["policyName"], two["policyId"], two["policyKind"]) == ("c.s.r", 6, "ROW_ACCESS_POLICY")
