"""Policies, tags, roles and protected objects as frozen values.

In: nothing. Out: the values that `GovernanceState` holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lineage.model import Domain, Policy


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy: its definition, the version of its body, and who created it when (UTC microseconds).

    `function`: it stands for the SQL function of its name.
    """

    policy: Policy
    version: int
    created: int
    changed: int
    owner: str | None
    comment: str | None = None
    function: bool = False


@dataclass(frozen=True, slots=True)
class RoleRecord:
    """A role: who created it when (UTC microseconds), and its comment."""

    created: int
    owner: str | None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag, and who created it when (UTC microseconds).

    Attributes:
        name: fully qualified.
        tag_id: its objectId.
        allowed: its ALLOWED_VALUES; None for any.
        policies: its masking policies, by the kind of type that each masks.
        created: when it was created.
        owner: who created it.
        comment: as SHOW TAGS shows it.
        dropped: UNDROP restores it with all its references.
    """

    name: str
    tag_id: int
    allowed: tuple[str, ...] | None
    policies: Mapping[str, str]
    created: int
    owner: str | None
    comment: str | None = None
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class PolicyUse:
    """A policy on columns, the masked one first; `columns` are keys that a rename keeps."""

    policy: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProtectedObject:
    """An object and what protects it.

    Attributes:
        key: `delta:<table id>`, `name:<name in lower case>`, or `schema:<name in lower case>`.
        name: fully qualified, as it was when a policy or a tag was last set on it.
        domain: a table, a view or a schema.
        columns: name and columnId of each column with a policy or tag, by its key.
        masks: masking policies, by the key of the masked column.
        rows: row access policies, by id.
        had_rows: whether it ever had a row access policy.
        grants: BigQuery's row access policies, by name in lower case: a row must pass one of them.
        tags: the values of its own tags, by the tag's id, in the order in which they were set.
        column_tags: the same of its columns, by their keys.
        types: the kind of type of each column when tags were set, by key.
        sealed: it is being replaced with its policies; no user may read it meanwhile.
    """

    key: str
    name: str
    domain: Domain
    columns: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    masks: Mapping[str, PolicyUse] = field(default_factory=dict)
    rows: Mapping[str, PolicyUse] = field(default_factory=dict)
    had_rows: bool = False
    grants: Mapping[str, PolicyUse] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    column_tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    sealed: bool = False


def schema_key(name: str) -> str:
    """The key of a schema by its fully qualified name."""
    return f"schema:{name.casefold()}"
