"""An S3 server on loopback, which tests start themselves."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from moto.server import ThreadedMotoServer


@contextmanager
def s3_server():
    """A server at a free port, and its address, until the block ends."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield server, f"http://{host}:{port}"
    finally:
        server.stop()


@contextmanager
def locked_bucket(name):
    """A server with a bucket that has Object Lock, and its client; boto3 finds it by the environment."""
    with s3_server() as (_, endpoint), pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
        import boto3

        client = boto3.client("s3")
        client.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
        yield client
