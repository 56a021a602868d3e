"""Object Lock: S3 itself keeps a version, whoever asks to delete it.

In: versions of objects, a moment. Out: locks that are set. The mode is COMPLIANCE: nobody shortens or lifts
it, the account's root user included, and no bypass is heard. A legal hold is a flag beside it.

A bucket has Object Lock or not; one that has it has versions, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from audit.core.clock import to_datetime, to_micros
from audit.time_travel.backups.store.backup_store import Enforcement
from audit.time_travel.backups.store.s3_client import S3Client
from audit.time_travel.errors import BackupStoreError

_MODE = "COMPLIANCE"
_SECOND = 1_000_000
_NONE = frozenset({"ObjectLockConfigurationNotFoundError", "NotImplemented", "MethodNotAllowed"})


@dataclass(frozen=True, slots=True)
class Locked:
    """What keeps a version.

    Attributes:
        until: the end of the lock, UTC microseconds; None for no lock that nobody can lift.
        date: the end of a lock of whatever mode: a default lock of the bucket can be in mode GOVERNANCE.
        is_held: under a legal hold.
    """

    until: int | None
    date: int | None
    is_held: bool


def locked_by(head: dict[str, Any]) -> Locked:
    """What keeps a version, of what S3 tells of it."""
    said = head.get("ObjectLockRetainUntilDate")
    date = None if said is None else to_micros(said)
    until = date if head.get("ObjectLockMode") == _MODE else None
    return Locked(until, date, head.get("ObjectLockLegalHoldStatus") == "ON")


def enforcement_of(client: S3Client, bucket: str) -> Enforcement:
    """Whether S3 enforces locks in a bucket.

    Raises:
        BackupStoreError: S3 refuses to tell, or cannot be reached.
    """
    try:
        answer = client.ask("get_object_lock_configuration", f"s3://{bucket}", Bucket=bucket)
    except BackupStoreError as error:
        if error.refusal not in _NONE:
            raise
        answer = {}
    if answer.get("ObjectLockConfiguration", {}).get("ObjectLockEnabled") == "Enabled":
        return Enforcement(is_enforced=True)
    return Enforcement(
        is_enforced=False,
        reason=f"the bucket {bucket} has no Object Lock: who may delete its objects can, locked or not",
    )


def end_of(until: int) -> datetime:
    """A moment as the end of a lock: whole seconds, never earlier.

    >>> end_of(1_500_000).isoformat()
    '1970-01-01T00:00:02+00:00'
    """
    return to_datetime(-(-until // _SECOND) * _SECOND)


def extend(client: S3Client, where: dict[str, str], until: int, known: Locked) -> None:
    """Have S3 keep a version until a moment; a later end stays.

    Args:
        client: of S3.
        where: bucket, key and version.
        until: UTC microseconds by the clock of S3.
        known: what keeps it now.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    if known.until is not None and known.until >= until:
        return
    retention = {"Mode": _MODE, "RetainUntilDate": end_of(max(until, known.date or 0))}
    client.ask("put_object_retention", _place(where), Retention=retention, **where)


def set_hold(client: S3Client, where: dict[str, str], is_held: bool) -> None:  # noqa: FBT001  a state
    """Put a version under a legal hold, or take it away.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    status = {"Status": "ON" if is_held else "OFF"}
    client.ask("put_object_legal_hold", _place(where), LegalHold=status, **where)


def _place(where: dict[str, str]) -> str:
    return f"s3://{where['Bucket']}/{where['Key']}"
