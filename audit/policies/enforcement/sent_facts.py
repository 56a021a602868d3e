"""What the enforcement rule of the JVM is told of the governance: values for JSON.

In: a state and its objects. Out: owners, privileges, policies and protection, as `Enforcement.java` reads
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lineage.model import Domain
from lineage.names import split_name

if TYPE_CHECKING:
    from audit.policies.model.governed_objects import ProtectedObject
    from audit.policies.model.state import GovernanceState
    from lineage.model import Policy


def owner_text(state: GovernanceState, key: str) -> str | None:
    """Who owns an object, by its key; None for nobody known."""
    owned = state.grants.owners.get(key)
    return None if owned is None else owned.holder.text


def granted_privileges(state: GovernanceState, key: str) -> dict[str, list[str]]:
    """The privileges that each holder has on an object, by its key."""
    found: dict[str, list[str]] = {}
    for holder, privilege in state.grants.given.get(key, {}):
        found.setdefault(holder.text, []).append(privilege)
    return found


def policy_facts(policy: Policy) -> dict[str, Any]:
    """A policy, with the schema that names in its body are resolved in."""
    parts = split_name(policy.name)
    # Names in the body are resolved in this schema. A row access policy of BigQuery's has four parts: its
    # table's and its own name.
    schema = parts[1] if len(parts) > 2 else ""  # noqa: PLR2004 - catalog, schema, name
    parameters = [[column.name, column.type] for column in policy.parameters]
    return {
        "name": policy.name,
        "body": policy.body,
        "schema": schema,
        "parameters": parameters,
        "returns": policy.data_type,
    }


def protection_facts(protected: ProtectedObject, state: GovernanceState) -> dict[str, Any] | None:
    """The protection of an object as the JVM takes it; None where nothing protects it.

    An object with the key `delta:<table id>` or `name:<name in lower case>` is this JSON:

        {"name": "c.s.t", "hadRows": false,
         "rows": [[["<policy>", ["<column>", …]], …], …],
         "masks": {"<column>": ["<policy>", ["<column>", …]], …},
         "sealed": false, "tagged": {"<kind of type>": "<policy>", …}}

    Policies are named by id, columns by key. A row must pass one policy of each inner list of `rows`. `masks`
    has the masks that are set on columns, and those of tags of the column or the object, for columns that
    existed when the object was tagged. `tagged` has the masks of the object's own tags by kind of type: they
    mask every column of that kind without an entry in `masks`, with the column as the one argument. The kind
    of a type is `DataType.sql()` in lower case without spaces,
    and "decimal" for every DECIMAL(p,s); see `audit.policies.model.types.kind_of`.

    A schema has the key `schema:<catalog>.<schema>` (lower case, a part in back-ticks only where it holds a
    dot or a back-tick), its name, no `rows`, no `masks`, and `tagged`: the masks of columns in its tables and
    views that have none by `masks` or `tagged` of their own table.
    """
    masks, tagged = state.masks(protected), state.tagged_kinds(protected)
    if not masks and not tagged and not protected.had_rows and not protected.sealed:
        return None
    rows = [[[use.policy, use.columns]] for use in protected.rows.values()]
    # BigQuery's policies are alternatives, so they are one inner list: a row must pass one of them.
    if protected.grants:
        rows.append([[use.policy, use.columns] for use in protected.grants.values()])
    return {
        "name": protected.name,
        "isView": protected.domain is Domain.VIEW,
        "hadRows": protected.had_rows,
        "names": {key: name for key, (name, _) in protected.columns.items()},
        "rows": rows,
        "masks": {key: [use.policy, use.columns] for key, use in masks.items()},
        "tagged": dict(tagged),
        "sealed": protected.sealed,
    }
