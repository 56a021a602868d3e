"""A large governance for the benchmark, as the events that it would have come from.

In: how many policies and tagged columns. Out: events; what they protect is nowhere read. Half of the policies
mask columns through a tag each, the other half filters the rows of a table each; one in twenty looks
something up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit.policies.model.events import GovernanceEvent
from lineage.catalog.object_ids import column_id, object_id
from lineage.model import Domain
from lineage.names import quote_name

COLUMNS = 20
"""Tagged columns of a table."""
_LOOKS_UP = 20


def catalog(policies: int, columns: int, schema: str) -> Iterator[GovernanceEvent]:
    """As many policies, on tables of 20 tagged columns each.

    Args:
        policies: how many.
        columns: how many are tagged.
        schema: of the policies; its table `rights` (role STRING) is what some of them look up.
    """
    masks = max(1, policies // 2)
    for number in range(masks):
        yield _policy(schema, number, Domain.MASKING_POLICY)
        yield _event("CREATE_TAG", f"tag-{number}", name=quote_name((*_parts(schema), f"tag_{number}")))
        details = {"policies": {"string": f"policy-{number}"}}
        yield _event("CHANGE_TAG", f"change-{number}", f"tag-{number}", details=details)
    for number in range(masks, policies):
        yield _policy(schema, number, Domain.ROW_ACCESS_POLICY)
    for number in range(columns):
        yield _tagged(number, f"tag-{number % masks}")
        if number % COLUMNS == 0:
            filters = range(masks, policies)
            policy = filters[number // COLUMNS % len(filters)]
            yield _set("ADD_ROW_ACCESS_POLICY", number, f"policy-{policy}", {})


def _policy(schema: str, number: int, domain: Domain) -> GovernanceEvent:
    looks_up = number % _LOOKS_UP == 0
    asked = (
        "EXISTS (SELECT 1 FROM rights WHERE is_role_in_session(role))" if looks_up else f"val <> '{number}'"
    )
    body = f"CASE WHEN {asked} THEN val ELSE '{number}' END" if domain is Domain.MASKING_POLICY else asked
    returns = "STRING" if domain is Domain.MASKING_POLICY else "BOOLEAN"
    details = {"domain": domain.value, "body": body, "parameters": [["val", "STRING"]], "returns": returns}
    name = quote_name((*_parts(schema), f"policy_{number}"))
    return _event("CREATE_POLICY", f"policy-{number}", name=name, details=details)


def _tagged(number: int, tag: str) -> GovernanceEvent:
    return _set("SET_TAG", number, tag, {"column": f"c{number % COLUMNS}", "value": "yes"})


def _set(kind: str, number: int, of: str, more: dict[str, Any]) -> GovernanceEvent:
    table, column = number // COLUMNS, f"c{number % COLUMNS}"
    identity = object_id("TABLE", f"table-{table}")
    told: list[Any] = [column, column, column_id(identity, column)]
    details = {
        "object_domain": Domain.TABLE.value,
        "object_id": identity,
        "columns": [[*told, "STRING"] if kind == "SET_TAG" else told],
        **more,
    }
    name = quote_name(("spark_catalog", "elsewhere", f"table_{table}"))
    return _event(kind, f"{kind}-{number}", of, f"delta:table-{table}", name, details)


def _parts(schema: str) -> tuple[str, str]:
    return "spark_catalog", schema


def _event(
    kind: str,
    identity: str,
    of: str | None = None,
    key: str | None = None,
    name: str = "",
    details: dict[str, Any] | None = None,
) -> GovernanceEvent:
    return GovernanceEvent(1, kind, identity, of, key, name, "bench", details=details or {})
