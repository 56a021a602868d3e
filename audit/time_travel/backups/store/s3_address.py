"""Places on S3: `s3://bucket/key`, `s3a://bucket/key`.

In: a location as Hadoop's `Path.toString` writes it: nothing in it is escaped. Out: bucket and key.
"""

from __future__ import annotations

from dataclasses import dataclass

from audit.time_travel.errors import BackupStoreUnknownError

S3_SCHEMES = ("s3", "s3a")


@dataclass(frozen=True, slots=True)
class S3Address:
    """A bucket, and a key or what keys begin with; no slash at its end."""

    bucket: str
    key: str
    scheme: str = "s3a"

    def below(self, path: str) -> S3Address:
        """A place below this one.

        >>> S3Address("b", "").below("a b"), str(S3Address("b", "k").below("%"))
        (S3Address(bucket='b', key='a b', scheme='s3a'), 's3a://b/k/%')
        """
        return S3Address(self.bucket, f"{self.key}/{path}".lstrip("/"), self.scheme)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}"


def s3_address(location: str) -> S3Address:
    """A location on S3.

    >>> s3_address("s3a://bucket/a b/c+d%/")
    S3Address(bucket='bucket', key='a b/c+d%', scheme='s3a')

    Raises:
        BackupStoreUnknownError: it is none.
    """
    scheme, colon, rest = location.partition("://")
    bucket, _, key = rest.partition("/")
    if not colon or scheme not in S3_SCHEMES or not bucket:
        raise BackupStoreUnknownError(
            f"{location} is no place on S3", f"write {S3_SCHEMES[1]}://bucket/folder"
        )
    return S3Address(bucket, key.rstrip("/"), scheme)
