"""An S3 server for the tests of backups, started on loopback at a free port."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from audit.time_travel.backups.store.s3_address import s3_address
from audit.time_travel.backups.store.s3_client import S3Client
from audit.time_travel.backups.store.s3_settings import s3_settings
from audit.time_travel.backups.store.s3_store import S3Store
from tests.s3_server import s3_server

_NUMBERS = count()


@dataclass(frozen=True)
class S3Server:
    """A running server.

    `settings` are Hadoop's; in `home` stores keep what is on its way. `boto` is a client of boto3, as
    somebody has one who goes around the project.
    """

    settings: dict[str, str]
    client: S3Client
    home: Path

    @property
    def boto(self) -> Any:
        """It takes a third of a second to make one, so that stores share it."""
        return self.client.boto

    def bucket(self, **options):
        """The name of a new bucket."""
        name = f"bucket-{next(_NUMBERS)}"
        self.boto.create_bucket(Bucket=name, **options)
        return name

    def locking(self):
        """The name of a new bucket with Object Lock."""
        return self.bucket(ObjectLockEnabledForBucket=True)

    def versioned(self):
        """The name of a new bucket with versions, without Object Lock."""
        name = self.bucket()
        self.boto.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
        return name

    def store(self, bucket, **options):
        """The store of the backups in a bucket."""
        staging = self.home / bucket
        return S3Store(self.client, s3_address(f"s3a://{bucket}/audit/backups"), staging, **options)

    def fill(self, bucket, files):
        """Objects with these bytes; the URIs by name."""
        for key, data in files.items():
            self.boto.put_object(Bucket=bucket, Key=f"warehouse/{key}", Body=data)
        return {key: f"s3a://{bucket}/warehouse/{key}" for key in files}

    def rows(self, bucket, prefix=""):
        """All versions and delete markers of a bucket."""
        page = self.boto.list_object_versions(Bucket=bucket, Prefix=prefix)
        return page.get("Versions", []), page.get("DeleteMarkers", [])


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    """A server that has no buckets of other modules' tests in use: names are never given twice."""
    with s3_server() as (_, endpoint):
        settings = {
            "fs.s3a.endpoint": endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.access.key": "a-key",
            "fs.s3a.secret.key": "a-secret",
            "fs.s3a.path.style.access": "true",
        }
        yield S3Server(settings, S3Client.connected(s3_settings(settings)), tmp_path_factory.mktemp("s3"))
