"""The field policies_referenced of a record.

In: the marks of the policies that were at work, or the objects that were accessed. Out: the field's entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lineage.model import AccessedObject, Attachment, Domain, Json, Relation
from lineage.resolve.context import PolicyMark


def policies_of_marks(marks: Sequence[PolicyMark]) -> tuple[Json, ...]:
    """policies_referenced: one entry an object, columns with their masking policies, row access apart."""
    # A table and an old version of it are one object, under one set of policies.
    objects: dict[str, dict[tuple[str, str], PolicyMark]] = {}
    for mark in marks:
        uses = objects.setdefault(mark.entry.relation.name, {})
        uses.setdefault((mark.column.name, mark.attached.policy.name), mark)
    return tuple(_entry(list(uses.values())) for uses in objects.values())


def policies_of_objects(
    accessed: Sequence[AccessedObject], policies: Callable[[Relation], Sequence[Attachment]]
) -> tuple[Json, ...]:
    """policies_referenced of what was accessed by no text: a mask counts where its column was accessed."""
    found: dict[str, Json] = {}
    for one in accessed:
        used = {column.name.lower(): column for column in one.columns}
        columns, rows = [], []
        for attachment in policies(Relation(one.name, one.domain, one.object_id, one.columns)):
            policy = _policy(attachment)
            # The first column of a masking policy is the one that it masks.
            masked = used.get(attachment.columns[0].lower())
            if attachment.policy.domain is Domain.ROW_ACCESS_POLICY:
                rows.append(policy)
            elif masked is not None:
                columns.append(
                    _without_empty(columnId=masked.column_id, columnName=masked.name, policies=[policy])
                )
        if columns or rows:
            found[one.name] = _without_empty(
                columns=columns,
                objectDomain=one.domain.value,
                objectId=one.object_id,
                objectName=one.name,
                policies=rows,
            )
    return tuple(found.values())


def _entry(marks: Sequence[PolicyMark]) -> Json:
    relation = marks[0].entry.relation
    columns = [
        _without_empty(columnId=m.column.column_id, columnName=m.column.name, policies=[_policy(m.attached)])
        for m in marks
        if m.column.name
    ]
    return _without_empty(
        columns=columns,
        objectDomain=relation.domain.value,
        objectId=relation.object_id,
        objectName=relation.name,
        policies=[_policy(m.attached) for m in marks if not m.column.name],
    )


def _policy(attached: Attachment) -> Json:
    """The document's three fields, and two of ours: which body it was, and whether it changed anything."""
    policy = attached.policy
    return _without_empty(
        policyName=policy.name,
        policyId=policy.policy_id,
        policyKind=policy.kind,
        policyVersion=policy.version,
        changedResult=attached.changes,
    )


def _without_empty(**fields: object) -> Json:
    return {key: value for key, value in fields.items() if value not in (None, [])}
