"""An S3 server on loopback, which tests start themselves."""

from __future__ import annotations

from contextlib import contextmanager

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
