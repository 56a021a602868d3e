"""Objects below a prefix, their versions, their hashes.

In: a bucket, a prefix. Out: `StoredFile`s in the order of their keys, page by page; hashes.

The oldest version of a key is the file of the backup. Who has the right to write can put a newer one over it,
or a delete marker, under any lock: S3 locks versions, and hides them readily. So nothing here asks for "the
current object", except in a bucket without versions: not every store knows the name of its only one, `null`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import Any

from audit.core.clock import to_micros
from audit.time_travel.backups.store.s3_address import S3Address
from audit.time_travel.backups.store.s3_client import MISSING, S3Client
from audit.time_travel.errors import BackupStoreError

_BATCH = 1000
"""Objects of one request to delete; S3 takes no more."""
_KEPT = frozenset({"AccessDenied", "InvalidRequest", "ObjectLocked"})
"""What S3, and stores of its kind, say of a locked version."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a backup.

    Attributes:
        key: of the object.
        version: the oldest one of the key; None for the only one in a bucket without versions.
        size: bytes.
        is_covered: S3 shows something newer under the key, or nothing.
    """

    key: str
    version: str | None
    size: int
    is_covered: bool = False

    def where(self, bucket: str) -> dict[str, str]:
        """Bucket, key and version, as operations of S3 take them."""
        version = {} if self.version is None else {"VersionId": self.version}
        return {"Bucket": bucket, "Key": self.key, **version}


def stored_files(client: S3Client, place: S3Address) -> Iterator[StoredFile]:
    """The objects whose keys begin with a key, ordered by key.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    for key, found in groupby(_rows(client, place), key=lambda row: str(row["Key"])):
        rows = list(found)
        versions = [row for row in rows if "Size" in row]
        if versions:
            own = versions[-1]  # S3 gives the newest first
            is_covered = len(rows) > 1
            version = None if own["VersionId"] == "null" and not is_covered else str(own["VersionId"])
            yield StoredFile(key, version, int(own["Size"]), is_covered)


def stored_file(client: S3Client, place: S3Address) -> StoredFile | None:
    """The object of exactly this key; None where there is none.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    first = next(stored_files(client, place), None)  # a key comes before those that it begins
    return first if first is not None and first.key == place.key else None


def names_below(client: S3Client, place: S3Address) -> list[str]:
    """The names that follow a key and a slash: of objects, of what hides them, of uploads on their way.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    prefix = f"{place.key}/".lstrip("/")
    found: set[str] = set()
    listing: dict[str, Any] = {"Bucket": place.bucket, "Prefix": prefix, "Delimiter": "/"}
    for page in client.pages("list_object_versions", place, **listing):
        found.update(str(one["Prefix"]) for one in page.get("CommonPrefixes", ()))
    found.update(key for key, _ in uploads(client, place.bucket, prefix))
    return sorted({name for one in found if (name := one[len(prefix) :].split("/")[0])})


def size_of_versions(client: S3Client, place: S3Address) -> Iterator[int]:
    """Bytes of each version below a place.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    return (int(row["Size"]) for row in _rows(client, place.below("")) if "Size" in row)


def dates_below(client: S3Client, place: S3Address) -> Iterator[int]:
    """When each object below a place was written, and each upload begun, UTC microseconds.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    prefix = f"{place.key}/"
    for row in _rows(client, place.below("")):
        yield to_micros(row["LastModified"])
    for page in client.pages("list_multipart_uploads", place, Bucket=place.bucket, Prefix=prefix):
        yield from (to_micros(one["Initiated"]) for one in page.get("Uploads", ()))


def uploads(client: S3Client, bucket: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Key and id of the uploads of several parts that are on their way.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    for page in client.pages("list_multipart_uploads", f"s3://{bucket}", Bucket=bucket, Prefix=prefix):
        yield from ((str(one["Key"]), str(one["UploadId"])) for one in page.get("Uploads", ()))


def abort_uploads(client: S3Client, place: S3Address) -> None:
    """End the uploads below a place: what is left of attempts that were killed, and costs money.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    for key, upload in list(uploads(client, place.bucket, f"{place.key}/")):
        _abort(client, {"Bucket": place.bucket, "Key": key, "UploadId": upload})


def _abort(client: S3Client, upload: dict[str, str]) -> None:
    try:
        client.ask("abort_multipart_upload", f"s3://{upload['Bucket']}/{upload['Key']}", **upload)
    except BackupStoreError as error:
        # Another runner has ended it.
        if error.refusal != "NoSuchUpload":
            raise


def delete_all(client: S3Client, place: S3Address) -> str | None:
    """Delete all that begins with a key, for good; the first key that S3 keeps, since it is locked.

    Raises:
        BackupStoreError: S3 refuses for another reason, or cannot be reached.
    """
    # Each batch is listed anew: where a listing goes on after what it named is gone, stores differ.
    while batch := list(islice(every_version(client, place), _BATCH)):
        if kept := delete_versions(client, place, iter(batch)):
            return kept
    return None


def delete_versions(client: S3Client, place: S3Address, versions: Iterator[tuple[str, str]]) -> str | None:
    """Delete versions and delete markers, for good; the first key that S3 keeps, since it is locked.

    Args:
        client: of S3.
        place: what they belong to, for messages.
        versions: key and version.

    Raises:
        BackupStoreError: S3 refuses for another reason, or cannot be reached.
    """
    kept: list[str] = []
    while batch := [{"Key": key, "VersionId": one} for key, one in islice(versions, _BATCH)]:
        what = {"Objects": batch, "Quiet": True}
        answer = client.ask("delete_objects", place, Bucket=place.bucket, Delete=what)
        for one in answer.get("Errors", ()):
            code, key = one.get("Code"), str(one.get("Key"))
            if code in _KEPT:
                kept.append(key)
            elif code not in MISSING:
                raise BackupStoreError(f"S3 does not delete {key} of {place}: {code}", "run it again")
    return min(kept, default=None)


def every_version(client: S3Client, place: S3Address) -> Iterator[tuple[str, str]]:
    """Key and version of all that begins with a key, delete markers included.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    for row in _rows(client, place):
        yield str(row["Key"]), str(row["VersionId"])


def digest_in(head: dict[str, Any]) -> str | None:
    """The SHA-256 that S3 has of a whole object, 64 hex digits; None where it has none.

    >>> digest_in({"ChecksumSHA256": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="})[:6]
    'e3b0c4'
    >>> digest_in({"ChecksumSHA256": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=-3"})  # of three parts

    Args:
        head: what S3 tells of it.
    """
    text = str(head.get("ChecksumSHA256", ""))
    if not text or "-" in text or head.get("ChecksumType") == "COMPOSITE":
        return None
    return base64.b64decode(text).hex()


def read_digest(client: S3Client, bucket: str, key: str, version: str | None) -> tuple[int, str]:
    """Size and SHA-256 of an object that is read, in memory of one mebibyte.

    Raises:
        BackupStoreError: it is not there, or cannot be read.
    """
    digest, size, place = hashlib.sha256(), 0, f"s3://{bucket}/{key}"
    which = {} if version is None else {"VersionId": version}
    answer = client.ask("get_object", place, Bucket=bucket, Key=key, **which)
    for chunk in client.chunks(answer["Body"], place):
        digest.update(chunk)
        size += len(chunk)
    return size, digest.hexdigest()


def _rows(client: S3Client, place: S3Address) -> Iterator[dict[str, Any]]:
    pages = client.pages("list_object_versions", place, Bucket=place.bucket, Prefix=place.key)
    return chain.from_iterable(
        sorted((*page.get("Versions", ()), *page.get("DeleteMarkers", ())), key=lambda row: str(row["Key"]))
        for page in pages
    )
