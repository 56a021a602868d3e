"""Asks S3, by boto3. The only file that imports it.

In: operations of S3. Out: their answers; refusals as `BackupStoreError`, with S3's code.

boto3 is the library of AWS itself, and has what a backup needs: Object Lock, legal holds, versions, checksums
of copies, copies from another bucket. object_store (delta-rs, obstore 0.12) has none of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any

from audit.core.clock import to_micros
from audit.time_travel.backups.store.s3_settings import S3Settings
from audit.time_travel.errors import BackupExtraMissingError, BackupStoreError

COPIES = 32
"""Requests that run at once where S3 does the work. An answer takes it some 50 ms, and boto3 some 1.5 ms of
Python: with more of them Python is what is waited for. S3 allows 3,500 a second and prefix."""
READS = 8
"""Objects that are read at once. A stream of S3 has 50 to 90 MB/s, and SHA-256 some 500 MB/s on a core: more
of them wait for the cores."""
MISSING = frozenset({"404", "NoSuchKey", "NoSuchVersion", "NotFound"})


@dataclass(frozen=True, slots=True)
class S3Client:
    """A client of S3; threads share it.

    Attributes:
        boto: the client of boto3.
        failures: what boto3 raises without an answer of S3.
        refusal: what boto3 raises for an answer that refuses.
    """

    boto: Any
    failures: type[Exception]
    refusal: type[Exception]

    @classmethod
    def connected(cls, settings: S3Settings) -> S3Client:
        """A client by settings; nothing is asked yet.

        Raises:
            BackupExtraMissingError: boto3 is not installed.
            BackupStoreError: the settings are none for boto3.
        """
        boto3, config, exceptions = (
            _required(one) for one in ("boto3", "botocore.config", "botocore.exceptions")
        )
        try:
            # A session of its own: that of the module is no thread's alone.
            client = boto3.session.Session().client(
                "s3",
                endpoint_url=settings.endpoint,
                region_name=settings.region,
                aws_access_key_id=settings.access_key,
                aws_secret_access_key=settings.secret_key,
                aws_session_token=settings.session_token,
                config=config.Config(
                    s3={"addressing_style": "path" if settings.is_path_style else "auto"},
                    retries={"mode": "standard", "max_attempts": 5},
                    max_pool_connections=COPIES,
                    # S3 answers a copy of 5 GB when it is done.
                    read_timeout=300,
                    # This project hashes what it reads; older stores know no newer checksums.
                    request_checksum_calculation="when_required",
                    response_checksum_validation="when_required",
                ),
            )
        except (exceptions.BotoCoreError, ValueError) as error:
            raise BackupStoreError(f"S3 cannot be reached: {error}", _SETTINGS) from error
        return cls(client, exceptions.BotoCoreError, exceptions.ClientError)

    def ask(self, operation: str, place: object, **arguments: Any) -> dict[str, Any]:
        """An answer of S3.

        Args:
            operation: a method of boto3's client.
            place: what it is about, for the message.
            arguments: of that method.

        Raises:
            BackupStoreError: S3 refuses, or cannot be reached.
        """
        try:
            answer: dict[str, Any] = getattr(self.boto, operation)(**arguments)
        except (self.failures, self.refusal) as error:
            raise self._error(error, operation, place) from error
        return answer

    def pages(self, operation: str, place: object, **arguments: Any) -> Iterator[dict[str, Any]]:
        """The pages of a listing, one after another.

        Raises:
            BackupStoreError: S3 refuses, or cannot be reached.
        """
        try:
            yield from self.boto.get_paginator(operation).paginate(**arguments)
        except (self.failures, self.refusal) as error:
            raise self._error(error, operation, place) from error

    def chunks(self, body: Any, place: object, size: int = 1 << 20) -> Iterator[bytes]:
        """The bytes of an answer, in pieces.

        Raises:
            BackupStoreError: they do not come.
        """
        try:
            yield from body.iter_chunks(size)
        except self.failures as error:
            raise self._error(error, "get_object", place) from error
        finally:
            body.close()

    def find(self, bucket: str, key: str, version: str | None = None) -> dict[str, Any] | None:
        """What S3 tells of an object, its checksum included; None where there is none.

        Raises:
            BackupStoreError: S3 refuses, or cannot be reached.
        """
        which = {} if version is None else {"VersionId": version}
        try:
            return self.ask(
                "head_object", f"s3://{bucket}/{key}", Bucket=bucket, Key=key, ChecksumMode="ENABLED", **which
            )
        except BackupStoreError as error:
            if error.refusal in MISSING:
                return None
            raise

    def date(self, bucket: str) -> int | None:
        """The date of an answer, UTC microseconds; None where it has none.

        Raises:
            BackupStoreError: S3 refuses, or cannot be reached.
        """
        answer = self.ask("head_bucket", f"s3://{bucket}", Bucket=bucket)
        date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        return None if date is None else to_micros(parsedate_to_datetime(date))

    def _error(self, error: Exception, operation: str, place: object) -> BackupStoreError:
        if isinstance(error, self.failures):
            return BackupStoreError(f"S3 cannot be reached for {place}: {error}", _SETTINGS)
        said = getattr(error, "response", {}).get("Error", {})
        refused = BackupStoreError(
            f"S3 refuses {operation} on {place}: {said.get('Code')} {said.get('Message', '')}".rstrip(),
            "look at the rights of the user on the bucket, and at what the message says",
        )
        refused.refusal = str(said.get("Code", ""))
        return refused


_SETTINGS = "look at fs.s3a.* of Spark, or at the environment and the configuration files of AWS"


def _required(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise BackupExtraMissingError(
            "backups on S3 need boto3, which is not installed", "pip install 'spark-access-history[s3]'"
        ) from error
