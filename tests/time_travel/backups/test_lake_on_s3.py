"""Tables in a bucket, their backups in another one: taken, and restored to both places."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from audit.spark.embedded import jars
from tests.quick_spark import DRIVER_OF_ONE_TEST
from tests.s3_server import s3_server
from tests.time_travel.backups import lake_on_s3

pytestmark = [
    pytest.mark.spark,
    pytest.mark.long("a JVM with Hadoop's client of S3; test_object_store has tables of this machine"),
    pytest.mark.slow("each commit on S3 is a dozen requests to a server in Python"),
]

LOCK = Path(__file__).with_name("s3_jars.lock")
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """What the driver saw, by name; its root."""
    root = tmp_path_factory.mktemp("root")
    paths = jars.resolve(os.environ, jars.read_lock(LOCK.read_text(encoding="utf-8")))
    requests: list[Request] = []
    with s3_server() as (server, endpoint):
        server._server.app = noted(server._server.app, requests)
        names = {
            "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_S3": endpoint, "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        ran = subprocess.run(
            [
                sys.executable, lake_on_s3.__file__, str(root), endpoint, os.pathsep.join(map(str, paths)),
                json.dumps(DRIVER_OF_ONE_TEST),
            ],
            capture_output=True, text=True, check=False, env={**os.environ, **names},
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-4000:]
    return json.loads(ran.stdout.splitlines()[-1]), root, requests


def is_data(path):
    """Whether an object is data of a table; a checkpoint is of its log."""
    return path.endswith((".parquet", ".bin")) and "/_delta_log/" not in path


class Request(NamedTuple):
    """A request to the server: when it came, and whether S3 is to copy."""

    time: float
    method: str
    path: str
    is_copy: bool


def noted(app, requests):
    """A WSGI application that notes each request."""

    def call(environ, start):
        is_copy = "HTTP_X_AMZ_COPY_SOURCE" in environ
        requests.append(Request(time.time(), environ["REQUEST_METHOD"], environ["PATH_INFO"], is_copy))
        return app(environ, start)

    return call


@pytest.mark.parametrize(
    ("what", "place"),
    [
        ("a new table", "s3a://lake/warehouse/_tables/again-"),
        ("in place", "s3a://lake/warehouse/_tables/t-"),
        ("on this machine", "file:{root}/here_tables/again-"),
    ],
)
def test_a_table_comes_back(lake, what, place):
    """With its deleted rows deleted, whatever was put over the files of the backup in the bucket."""
    found, root, _ = lake
    location, rows = found[what]
    assert location.startswith(place.format(root=root))
    assert rows == [[9, 42]]


def test_it_is_a_table_as_any(lake):
    """It is written on; one that was restored in place has its past."""
    found, *_ = lake
    assert found["is written on"] == [[10, 142]]
    assert found["its past"] == [[1, 1]]


def test_a_schema_comes_back(lake):
    """With its views, whose tables are the restored ones."""
    location, rows = lake[0]["a schema"]
    assert location.startswith("s3a://lake/warehouse/_tables/t-")
    assert rows == [[9]]


def test_s3_copies_the_data(lake):
    """From bucket to bucket no byte of a data file comes by this machine, by Python or by the JVM."""
    found, _, requests = lake
    data = [
        one
        for begin, end in found["windows"]
        for one in requests
        if begin < one.time < end and one.method != "HEAD" and is_data(one.path)
    ]
    assert any(one.is_copy for one in data)
    assert [(one.method, one.path) for one in data if not one.is_copy] == []


def test_a_killed_restore_shows_nothing(lake):
    """Its files were there, its log was not; the next attempt has made the table."""
    assert lake[0]["killed"] == [True, False]
