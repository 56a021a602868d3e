"""What only S3 has: parts, kills, races of runners, bytes that rot, settings, answers that do not come."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

from audit.core.errors import ConfigInvalid
from audit.time_travel.backups.files.link_files import Taken
from audit.time_travel.backups.files.manifest import NAME, Damage
from audit.time_travel.backups.store import s3_objects, s3_publish
from audit.time_travel.backups.store.backup_store import Lock, Source
from audit.time_travel.backups.store.choose import store_for
from audit.time_travel.backups.store.s3_copy import Sizes
from audit.time_travel.backups.store.s3_settings import S3Settings, s3_settings
from audit.time_travel.errors import (
    BackupDamagedError,
    BackupExtraMissingError,
    BackupIncompleteError,
    BackupStoreError,
    BackupStoreUnknownError,
)
from tests.time_travel.backups.store.manifests import BACKUP, entries_in, verified

MIB = 1 << 20
SMALL = Sizes(one_request=6 * MIB, part=5 * MIB)
PREFIX = "audit/backups/set/backup/"
FILES = {f"{number}.parquet": str(number).encode() * 100 for number in range(20)}


def sources(s3, files=FILES):
    """Files of a table in a bucket of its own."""
    return [Source(uri, name) for name, uri in s3.fill(s3.bucket(), files).items()]


# -- parts and kills ---------------------------------------------------------------------------


def test_a_large_file_is_copied_in_parts(s3):
    """Its hash is that of its bytes: of parts S3 has none."""
    data = b"0123456789abcdef" * (11 * MIB // 16) + b"end"
    store = s3.store(s3.locking(), sizes=SMALL)
    taken = store.take(sources(s3, {"large": data}), BACKUP)
    assert taken == Taken(copied=1, copied_bytes=len(data))
    assert store.take(sources(s3, {"large": data}), BACKUP) == Taken(kept=1)
    store.publish(BACKUP, Lock(store.clock() + 60_000_000))
    assert [one.sha256 for one in entries_in(store)] == [hashlib.sha256(data).hexdigest()]
    assert store.verify(BACKUP).damages == ()


def test_parts_are_as_many_as_s3_takes():
    """No more than 10,000, whatever the size."""
    ranges = Sizes().ranges(50 * 1024**4)
    assert len(ranges) <= 10_000
    assert (ranges[0][0], ranges[-1][1]) == (0, 50 * 1024**4 - 1)
    assert all(one[1] + 1 == two[0] for one, two in pairwise(ranges))


def begun(s3, bucket, key):
    """What a kill in the middle of a copy in parts leaves."""
    upload = s3.boto.create_multipart_upload(Bucket=bucket, Key=PREFIX + key)["UploadId"]
    s3.boto.upload_part(Bucket=bucket, Key=PREFIX + key, UploadId=upload, PartNumber=1, Body=b"half")
    return s3.boto.list_multipart_uploads(Bucket=bucket)["Uploads"]


def uploads(s3, bucket):
    """The uploads on their way."""
    return s3.boto.list_multipart_uploads(Bucket=bucket).get("Uploads", [])


def test_a_killed_upload_is_listed_and_ended(s3):
    """By the next attempt, or with what is left."""
    bucket = s3.bucket()
    store = s3.store(bucket)
    assert begun(s3, bucket, "0.parquet")
    assert store.unfinished("set") == [BACKUP]
    store.take(sources(s3), BACKUP)
    store.publish(BACKUP)
    assert (uploads(s3, bucket), store.verify(BACKUP).damages) == ([], ())
    begun(s3, bucket, "0.parquet")
    store.remove(BACKUP)
    assert (uploads(s3, bucket), store.unfinished("set"), s3.rows(bucket, PREFIX)) == ([], [], ([], []))


def test_a_half_removed_backup_is_none(s3, monkeypatch):
    """Killed between the manifest and the files."""
    bucket = s3.locking()
    store = s3.store(bucket)
    store.take(sources(s3), BACKUP)
    store.publish(BACKUP)
    real, calls = s3_objects.delete_all, []

    def killed(*arguments):
        if calls:
            raise KeyboardInterrupt
        calls.append(arguments)
        return real(*arguments)

    monkeypatch.setattr("audit.time_travel.backups.store.s3_store.delete_all", killed)
    with pytest.raises(KeyboardInterrupt):
        store.remove(BACKUP)
    monkeypatch.undo()
    assert store.unfinished("set") == [BACKUP]
    store.remove(BACKUP)
    assert s3.rows(bucket) == ([], [])


CHILD = """
import json, sys
from pathlib import Path
from audit.time_travel.backups.store.backup_store import Lock, Source
from audit.time_travel.backups.store.s3_address import s3_address
from audit.time_travel.backups.store.s3_client import S3Client
from audit.time_travel.backups.store.s3_copy import Sizes
from audit.time_travel.backups.store.s3_settings import s3_settings
from audit.time_travel.backups.store.s3_store import S3Store
settings, root, staging, files = json.loads(sys.argv[1])
client = S3Client.connected(s3_settings(settings))
store = S3Store(client, s3_address(root), Path(staging), Sizes(6 << 20, 5 << 20))
print("begins", flush=True)
store.take((Source(*one) for one in files), "set/backup")
store.publish("set/backup", Lock(store.clock() + 60_000_000))
print("ends", flush=True)
"""


def child(s3, bucket, files):
    """A runner in a process of its own, which has begun."""
    pairs = [(one.location, one.target) for one in files]
    told = json.dumps([s3.settings, f"s3a://{bucket}/audit/backups", str(s3.home), pairs])
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, told], stdout=subprocess.PIPE, cwd=Path(__file__).parents[4]
    )
    assert process.stdout.readline() == b"begins\n"
    return process


@pytest.mark.slow("processes that are killed")
def test_killed_at_any_point_it_goes_on(s3):
    """After each kill the folder is no backup or a whole one; the last attempt makes it whole."""
    files = {**{f"{number}": str(number).encode() for number in range(60)}, "large": b"x" * 11 * MIB}
    taken, bucket = sources(s3, files), s3.locking()
    store = s3.store(bucket, sizes=SMALL)
    for pause in (0.05, 0.2, 0.6, 1.2):
        process = child(s3, bucket, taken)
        time.sleep(pause)
        process.kill()
        process.communicate()
        assert not store.is_published(BACKUP) or store.verify(BACKUP).damages == ()
    process = child(s3, bucket, taken)
    assert b"ends" in process.communicate()[0]
    assert store.verify(BACKUP).damages == ()
    assert [(one.path, one.size) for one in entries_in(store)] == sorted(
        (name, len(data)) for name, data in files.items()
    )
    assert uploads(s3, bucket) == []


# -- races -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bucket", "versioned", "locking"])
def test_two_runners_make_one_backup(s3, kind):
    """At once, of one folder: both end, with the same manifest, and the backup is whole."""
    store, files = s3.store(getattr(s3, kind)()), sources(s3)
    start, made = threading.Barrier(2), []

    def run():
        start.wait()
        store.take(files, BACKUP)
        made.append(store.publish(BACKUP, Lock(store.clock() + 60_000_000)))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 2
    assert made[0] == made[1]
    assert verified(store, made[0].digest) == ()
    assert made[0].files == len(FILES)


def test_a_second_runner_comes_late(s3):
    """It copies what the first one has published: the same bytes over the same bytes are no damage."""
    bucket = s3.locking()
    store, files = s3.store(bucket), sources(s3)
    store.take(files, BACKUP)
    made = store.publish(BACKUP, Lock(store.clock() + 60_000_000))
    one = files[0]
    source = {"Bucket": one.location.split("/")[2], "Key": "warehouse/" + one.target}
    s3.boto.copy_object(Bucket=bucket, Key=PREFIX + one.target, CopySource=source)
    s3_publish.publish(store.client, store._folder(BACKUP), Lock(store.clock() + 120_000_000), lambda _: None)
    assert verified(store, made.digest) == ()
    manifests = [row for row in s3.rows(bucket, PREFIX)[0] if row["Key"].endswith(NAME)]
    assert len(manifests) == 1


def test_two_runners_remove_one_backup(s3):
    """Both end, and nothing is left."""
    bucket = s3.locking()
    store = s3.store(bucket)
    store.take(sources(s3), BACKUP)
    store.publish(BACKUP)
    failed, start = [], threading.Barrier(2)

    def run():
        start.wait()
        try:
            store.remove(BACKUP)
        except Exception as error:  # noqa: BLE001  shown by the assertion
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert s3.rows(bucket) == ([], [])


# -- damage ------------------------------------------------------------------------------------


def test_bytes_that_rot_are_found(s3):
    """Under the lock, with the size and the checksum that S3 has noted: only reading tells."""
    bucket = s3.locking()
    store = s3.store(bucket)
    store.take(sources(s3), BACKUP)
    store.publish(BACKUP, Lock(store.clock() + 60_000_000))
    key = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[bucket].keys[PREFIX + "7.parquet"]
    key._value_buffer.seek(50)
    key._value_buffer.write(b"X")
    assert store.verify(BACKUP).damages == (Damage("7.parquet", "hash"),)


def test_a_published_backup_takes_no_other_file(s3):
    """Not even where nothing locks it."""
    store = s3.store(s3.bucket())
    store.take(sources(s3), BACKUP)
    store.publish(BACKUP)
    with pytest.raises(BackupDamagedError, match="is whole"):
        store.take(sources(s3, {"7.parquet": b"7" * 99}), BACKUP)
    assert store.verify(BACKUP).damages == ()


def test_a_file_of_this_machine_is_uploaded(s3, tmp_path):
    """A log that was written here; one that is too large for one request is refused."""
    (tmp_path / "0.json").write_bytes(b"{}")
    (tmp_path / "large").write_bytes(b"x" * 7 * MIB)
    store = s3.store(s3.bucket(), sizes=SMALL)
    small = Source(str(tmp_path / "0.json"), "_delta_log/0.json")
    assert store.take([small], BACKUP) == Taken(copied=1, copied_bytes=2)
    assert store.take([small], BACKUP) == Taken(kept=1)
    with pytest.raises(BackupIncompleteError, match="too many"):
        store.take([Source(str(tmp_path / "large"), "large")], BACKUP)
    with pytest.raises(BackupIncompleteError, match="No such file"):
        store.take([Source(str(tmp_path / "none"), "none")], BACKUP)


def test_more_files_than_a_page_has(s3, monkeypatch):
    """Listings come in pages, deletions in batches: the order stays, and nothing is left out."""
    bucket = s3.locking()
    store = s3.store(bucket)
    paginate = S3Pages(store.client.boto)
    monkeypatch.setattr(store.client.boto, "get_paginator", paginate.get)
    monkeypatch.setattr(s3_publish, "_BATCH", 3)
    monkeypatch.setattr(s3_objects, "_BATCH", 3)
    store.take(sources(s3), BACKUP)
    store.publish(BACKUP)
    for name in ("3.parquet", "7.parquet"):
        s3.boto.delete_object(Bucket=bucket, Key=PREFIX + name)
        s3.boto.put_object(Bucket=bucket, Key=PREFIX + name, Body=b"other")
    assert [one.path for one in entries_in(store)] == sorted(FILES)
    assert store.verify(BACKUP).damages == (Damage("3.parquet", "covered"), Damage("7.parquet", "covered"))
    assert paginate.pages > 20
    store.remove(BACKUP)
    assert s3.rows(bucket) == ([], [])


class S3Pages:
    """The paginators of a client, with two rows a page."""

    def __init__(self, boto):
        self.real, self.pages = boto.get_paginator, 0

    def get(self, operation):
        """One of them."""
        paginator = self.real(operation)
        self.paginate = paginator.paginate
        paginator.paginate = self.counted
        return paginator

    def counted(self, **arguments):
        """Pages, which are counted."""
        for page in self.paginate(**arguments, PaginationConfig={"PageSize": 2}):
            self.pages += 1
            yield page


# -- settings, refusals ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, S3Settings()),
        ({"fs.s3a.endpoint": "s3.amazonaws.com"}, S3Settings()),
        ({"fs.s3a.endpoint": "minio:9000"}, S3Settings(endpoint="https://minio:9000")),
        ({"spark.hadoop.fs.s3a.endpoint": " http://minio:9000 "}, S3Settings(endpoint="http://minio:9000")),
        (
            {"fs.s3a.endpoint": "minio", "fs.s3a.connection.ssl.enabled": "FALSE"},
            S3Settings(endpoint="http://minio"),
        ),
        (
            {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "s", "fs.s3a.session.token": "t"},
            S3Settings(access_key="a", secret_key="s", session_token="t"),  # noqa: S106  none of anybody's
        ),
        ({"fs.s3a.session.token": "t"}, S3Settings()),
        ({"fs.s3a.path.style.access": "True"}, S3Settings(is_path_style=True)),
        (
            {"fs.s3a.endpoint.region": "eu-west-1", "fs.s3a.bucket.b.endpoint.region": "us-west-2"},
            S3Settings(region="us-west-2"),
        ),
        ({"fs.s3a.bucket.other.endpoint.region": "us-west-2", "fs.s3a.threads.max": "7"}, S3Settings()),
    ],
)
def test_the_settings_of_hadoop(settings, expected):
    """Those of the bucket before those of all; others are passed over."""
    assert s3_settings(settings, "b") == expected


def test_an_access_key_has_a_secret_key():
    """One alone is an error; no message shows a secret."""
    with pytest.raises(ConfigInvalid, match="alone"):
        s3_settings({"fs.s3a.access.key": "a"})
    both = s3_settings(
        {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "hush", "fs.s3a.session.token": "hush"}
    )
    assert "hush" not in repr(both)


def test_credentials_of_the_environment(s3, monkeypatch, tmp_path):
    """Where Hadoop's settings say nothing."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "from-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3.settings["fs.s3a.endpoint"])
    store = store_for(f"s3://{s3.bucket()}/root", s3.home, {"fs.s3a.path.style.access": "true"})
    assert store.client.boto._request_signer._credentials.access_key == "from-the-environment"
    (tmp_path / "a").write_bytes(b"1")
    store.take([Source(str(tmp_path / "a"), "a")], BACKUP)
    assert store.location(BACKUP).startswith("s3://")
    assert store.read(BACKUP, "a") == b"1"


@pytest.mark.parametrize("root", ["gs://bucket/root", "abfss://c@a.dfs.core.windows.net/root", "s3a:///root"])
def test_an_unknown_place_is_refused(root):
    """With what there is instead."""
    with pytest.raises(BackupStoreUnknownError, match="s3a://") as caught:
        store_for(root, Path())
    assert root in caught.value.problem


def test_without_boto3_the_extra_is_named(monkeypatch):
    """Only where a bucket is asked for."""
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(BackupExtraMissingError, match=r"pip install 'spark-access-history\[s3\]'"):
        store_for("s3a://bucket/root", Path())
    assert store_for("/data/backups", Path()).clock() is None


def test_a_store_that_does_not_answer(s3):
    """Its bucket is not there, or its address; the error names the bucket, and says where to look."""
    with pytest.raises(BackupStoreError, match="no-such-bucket") as caught:
        s3.store("no-such-bucket").publish(BACKUP)
    assert caught.value.refusal == "NoSuchBucket"
    with pytest.raises(BackupStoreError, match="NoSuchBucket"):
        s3.store("no-such-bucket").take([Source(__file__, "a")], BACKUP)
    nowhere = store_for(
        "s3a://bucket/root", s3.home, {**s3.settings, "fs.s3a.endpoint": "http://127.0.0.1:9"}
    )
    with pytest.raises(BackupStoreError, match="cannot be reached") as caught:
        nowhere.clock()
    assert "fs.s3a" in caught.value.way_out
    with pytest.raises(BackupStoreError, match="cannot be reached"):
        store_for("s3a://bucket/root", s3.home, {"fs.s3a.endpoint": "no url at all"})
