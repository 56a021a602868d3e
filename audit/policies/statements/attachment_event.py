"""The event of a policy that is put on an object or taken off.

In: the actor, the policy, the object with the columns that are the policy's arguments. Out: a
`GovernanceEvent`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit.policies.model.events import GovernanceEvent
from lineage.model import Domain
from lineage.names import quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from audit.core.actor import Actor
    from audit.policies.enforcement.enforcer import CatalogObject


def attachment_event(
    actor: Actor,
    kind: str,
    of_id: str,
    found: CatalogObject,
    columns: Sequence[tuple[str, str, int, str]],
    **more: Any,
) -> GovernanceEvent:
    """The event `kind` of a policy on an object.

    Args:
        actor: whose statement it is.
        kind: SET_MASKING_POLICY, ADD_ROW_ACCESS_POLICY, GRANT_ROWS …
        of_id: the policy.
        found: the object.
        columns: the policy's arguments; none where it is taken off.
        more: further details, by name.
    """
    details = {
        "object_domain": (Domain.VIEW if found.is_view else Domain.TABLE).value,
        "object_id": found.object_id,
        "columns": [[key, name, identity] for name, key, identity, _ in columns],
        **more,
    }
    name = quote_name(found.name)
    return GovernanceEvent.of(actor, kind, of_id=of_id, key=found.key, name=name, details=details)
