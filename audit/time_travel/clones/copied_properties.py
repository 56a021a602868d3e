"""The retention properties of a copy of a table: a clone, or a table that a backup gives back.

In: the properties of the source, those of what the copy replaces, of its schema and of the account. Out: the
properties of the copy beside its source's. Its retention is its own, of now; a copy that replaces a table
keeps that table's retention.
"""

from __future__ import annotations

from collections.abc import Mapping

from audit.time_travel.clones.create import is_place
from audit.time_travel.retention.periods import Retention, in_force, key
from audit.time_travel.retention.table_properties import (
    ADOPTED,
    inherited,
    is_pinned,
    kept_properties,
    of_text,
    owners,
    parameters_of,
    saved,
)
from lineage.sql.commands.time_travel.retention import RETENTION


def copied_properties(
    source: Mapping[str, str],
    location: str,
    schema: Mapping[str, str],
    account: Mapping[str, float],
    now: int,
    *,
    is_kept: bool,
    given: Mapping[str, str] | None = None,
    before: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The properties that retention gives a copy of a table, and those of its statement.

    >>> found = copied_properties({}, "file:/mine/t", {}, {}, 0, is_kept=False)
    >>> found["timeTravel.adopted"], found["delta.logRetentionDuration"]
    ('true', 'interval 36500 days')

    Args:
        source: properties of the source.
        location: of the copy.
        schema: properties of the copy's schema.
        account: parameters of the account.
        now: UTC microseconds.
        is_kept: retention sets Delta's properties on the source; on any other one they are the owner's.
        given: properties of the statement.
        before: of the table that is replaced; None for a new one.

    Raises:
        BadParameterError: a given property cannot be.
    """
    own, rest = of_text(given or {})
    own = owners(source, is_kept=is_kept) | own
    # Former periods are the source's past and mean nothing for the copy.
    parameters = parameters_of(source)
    if before is not None:  # also where it has none of its own, but its schema's
        parameters.pop(key(RETENTION), None)
    former = before or {}
    parameters |= inherited(former, rest) | ({} if is_place(location) else {ADOPTED: "true"})

    def periods(properties: Mapping[str, str]) -> Retention:
        return in_force(properties, schema, account)

    after = periods({**parameters, **saved(own)})
    if before is not None:
        after = after.after(periods(former), now)
    return {**rest, **kept_properties(parameters, own, after, now, pinned=is_pinned(former))}
