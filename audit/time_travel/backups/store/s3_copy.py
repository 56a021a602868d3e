"""Takes one file into a bucket: by a copy that S3 makes itself, or by an upload.

In: a `Source`, the place of the copy. Out: a `Taken`. A copy appears when it is whole, so a kill leaves none
or a whole one; of a large file it leaves an upload of parts, which `publish` and `remove` end.

A copy keeps the ETag of its source in its metadata. A second attempt knows by it that the file is there: the
ETags of both differ as soon as one of them came in parts or is encrypted by a key of its own.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.core.file_paths import local_path
from audit.time_travel.backups.files.link_files import Taken
from audit.time_travel.backups.files.manifest import sha256_of
from audit.time_travel.backups.store.backup_store import Source
from audit.time_travel.backups.store.s3_address import S3Address, s3_address
from audit.time_travel.backups.store.s3_client import S3Client
from audit.time_travel.backups.store.s3_objects import digest_in
from audit.time_travel.errors import BackupIncompleteError

_OF_SOURCE = "source-etag"
_PARTS = 10_000
"""An object of S3 has no more parts."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of S3, in bytes.

    Attributes:
        one_request: up to here one request copies or uploads a file. Then S3 has the SHA-256 of the whole
            file; of parts it has none.
        part: of a larger file; S3 takes none below 5 MiB.
    """

    one_request: int = 5 * 1024**3
    part: int = 1024**3

    def ranges(self, size: int) -> list[tuple[int, int]]:
        """The first and the last byte of each part.

        >>> Sizes(part=5).ranges(11)
        [(0, 4), (5, 9), (10, 10)]
        """
        part = max(self.part, -(-size // _PARTS))
        return [(at, min(at + part, size) - 1) for at in range(0, size, part)]


S3_SIZES = Sizes()


@dataclass(frozen=True, slots=True)
class Target:
    """Where a copy goes.

    Attributes:
        client: of S3.
        place: bucket and key.
        is_new: nothing is there, so that nobody asks.
        make_way: takes away what is there and is another file.
        sizes: of S3.
    """

    client: S3Client
    place: S3Address
    is_new: bool
    make_way: Callable[[], None]
    sizes: Sizes = S3_SIZES

    def kept(self, is_same: Callable[[dict[str, Any]], bool]) -> Taken | None:
        """What to answer when the file is there already; None after it has made way for a copy."""
        head = None if self.is_new else self.client.find(self.place.bucket, self.place.key)
        if head is not None and is_same(head):
            return Taken(kept=1)
        if not self.is_new:
            self.make_way()
        return None


def take(source: Source, target: Target) -> Taken:
    """Copy a file into a bucket, or keep the copy that is there.

    Raises:
        BackupIncompleteError: there is no such file, or it is too large to be uploaded.
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    path = local_path(source.location)
    return _copied(source, target) if path is None else _uploaded(path, target)


def _put(body: Any, size: int, digest: str, target: Target) -> Taken:
    kept = target.kept(lambda head: digest_in(head) == digest)
    if kept is not None:
        return kept
    place, checksum = target.place, base64.b64encode(bytes.fromhex(digest)).decode("ascii")
    # S3 refuses other bytes than those of the checksum.
    target.client.ask(
        "put_object", place, Bucket=place.bucket, Key=place.key, Body=body, ChecksumAlgorithm="SHA256",
        ChecksumSHA256=checksum,
    )  # fmt: skip
    return Taken(copied=1, copied_bytes=size)


def _uploaded(path: Path, target: Target) -> Taken:
    try:
        size, digest = sha256_of(path)
        if size > target.sizes.one_request:
            raise BackupIncompleteError(
                f"{path} has more than {target.sizes.one_request} bytes, too many for one request to S3",
                "keep backups of tables of this machine in a root on it",
            )
        with path.open("rb") as file:
            return _put(file, size, digest, target)
    except OSError as error:
        raise BackupIncompleteError(
            f"{path} cannot be copied to {target.place}: {error.strerror}",
            "run it again: it goes on where it was",
        ) from error


def _copied(source: Source, target: Target) -> Taken:
    origin = s3_address(source.location)
    head = target.client.find(origin.bucket, origin.key, source.version)
    if head is None:
        raise BackupIncompleteError(
            f"{source.location} cannot be copied to {target.place}: there is no such object",
            "run it again: it goes on where it was",
        )
    size, etag = int(head["ContentLength"]), str(head["ETag"]).strip('"')
    kept = target.kept(
        lambda there: int(there["ContentLength"]) == size and there["Metadata"].get(_OF_SOURCE) == etag
    )
    if kept is not None:
        return kept
    version = source.version or head.get("VersionId")
    what: dict[str, Any] = {"Bucket": origin.bucket, "Key": origin.key}
    if version is not None:
        what["VersionId"] = version
    # It must be the object that was looked at.
    origin_is: dict[str, Any] = {"CopySource": what, "CopySourceIfMatch": f'"{etag}"'}
    copy = _in_parts if size > target.sizes.one_request else _at_once
    copy(target, origin_is, size, {_OF_SOURCE: etag})
    return Taken(copied=1, copied_bytes=size)


def _at_once(target: Target, origin: dict[str, Any], _: int, metadata: dict[str, str]) -> None:
    place = target.place
    target.client.ask(
        "copy_object", place, Bucket=place.bucket, Key=place.key, MetadataDirective="REPLACE",
        Metadata=metadata, ChecksumAlgorithm="SHA256", **origin,
    )  # fmt: skip


def _in_parts(target: Target, origin: dict[str, Any], size: int, metadata: dict[str, str]) -> None:
    # A checksum of parts is not that of the file, so none is asked for: `publish` reads the file.
    ask, place = target.client.ask, target.place
    where = {"Bucket": place.bucket, "Key": place.key}
    where["UploadId"] = ask("create_multipart_upload", place, Metadata=metadata, **where)["UploadId"]
    parts = []
    for number, (first, last) in enumerate(target.sizes.ranges(size), start=1):
        answer = ask(
            "upload_part_copy", place, PartNumber=number, CopySourceRange=f"bytes={first}-{last}",
            **where, **origin,
        )  # fmt: skip
        parts.append({"PartNumber": number, "ETag": answer["CopyPartResult"]["ETag"]})
    ask("complete_multipart_upload", place, MultipartUpload={"Parts": parts}, **where)
