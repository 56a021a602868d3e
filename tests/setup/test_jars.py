"""Delta's jars, against a real HTTP server of this machine that serves good and bad bytes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from audit.spark.embedded import jars

BYTES = os.urandom(300_000)
JAR = jars.Jar("io.delta", "thing_2.13", "1.0", hashlib.sha256(BYTES).hexdigest(), len(BYTES))


class Quiet(SimpleHTTPRequestHandler):
    """A file server that counts what it was asked for and prints nothing."""

    def log_message(self, *_):
        """Keep count where the default prints."""
        self.server.asked += 1


@pytest.fixture
def maven(tmp_path):
    """A Maven repository on 127.0.0.1 that has the jar."""
    folder = tmp_path / "maven"
    file = folder / JAR.maven_path
    file.parent.mkdir(parents=True)
    file.write_bytes(BYTES)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    server.asked, server.file = 0, file
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def environment(tmp_path, maven=None):
    """A home, a cache and a repository of the test's own."""
    port = maven.server_port if maven else 9  # 9: nobody listens
    return {
        "HOME": str(tmp_path / "home"),
        "AUDIT_JARS_DIR": str(tmp_path / "cache"),
        "AUDIT_MAVEN_URL": f"http://127.0.0.1:{port}",
    }


def left_behind(tmp_path):
    """What the cache holds but the jar."""
    return [file.name for file in (tmp_path / "cache").glob("*") if file.name != JAR.name]


def test_the_lock_file_names_deltas_two_jars():
    """The lock file has Delta's version as pyproject pins it, for Spark 4.2."""
    assert [(jar.artifact, jar.version) for jar in jars.locked()] == [
        ("delta-spark_4.2_2.13", "4.4.0"),
        ("delta-storage", "4.4.0"),
    ]


def test_it_is_fetched_once(tmp_path, maven):
    """The first call downloads, the second needs no server."""
    told = []
    (path,) = jars.resolve(environment(tmp_path, maven), (JAR,), told.append)
    assert path.read_bytes() == BYTES
    assert jars.resolve(environment(tmp_path), (JAR,), told.append) == (path,)
    assert (maven.asked, len(told), left_behind(tmp_path)) == (1, 1, [])


@pytest.mark.parametrize(
    "place",
    [
        f".m2/repository/{JAR.maven_path}",
        f".ivy2.5.2/cache/io.delta/thing_2.13/jars/{JAR.name}",
        f".ivy2/jars/io.delta_{JAR.name}",
    ],
)
def test_mavens_and_ivys_caches_save_the_download(tmp_path, place):
    """A jar that Maven or Ivy has fetched before is copied, with no network."""
    file = tmp_path / "home" / place
    file.parent.mkdir(parents=True)
    file.write_bytes(BYTES)
    (path,) = jars.resolve(environment(tmp_path), (JAR,))
    assert path.read_bytes() == BYTES


def test_a_pom_without_its_jar_and_a_damaged_jar_are_passed_over(tmp_path, maven):
    """Ivy's trap, a POM without its JAR, is none here; nor is a local copy with other bytes."""
    home = tmp_path / "home"
    pom = (home / ".m2" / "repository" / JAR.maven_path).with_suffix(".pom")
    damaged = home / ".ivy2" / "jars" / f"io.delta_{JAR.name}"
    for file in (pom, damaged):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x" * JAR.bytes)
    (path,) = jars.resolve(environment(tmp_path, maven), (JAR,))
    assert path.read_bytes() == BYTES


def test_a_damaged_cache_is_mended(tmp_path, maven):
    """A file of the right size with wrong bytes in our own cache is fetched again."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / JAR.name).write_bytes(b"x" * JAR.bytes)
    (path,) = jars.resolve(environment(tmp_path, maven), (JAR,))
    assert path.read_bytes() == BYTES


def test_wrong_bytes_are_refused(tmp_path, maven):
    """A download with another checksum is an error that names file, URL and the way out; nothing is kept."""
    maven.file.write_bytes(b"<html>Please log in to the proxy</html>")
    with pytest.raises(
        jars.JarCorrupt, match=r"http://127.*thing_2.13-1.0.jar.*nothing was kept.*AUDIT_MAVEN_URL"
    ):
        jars.resolve(environment(tmp_path, maven), (JAR,))
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("gone", [True, False])
def test_offline_and_not_found_say_what_to_do(tmp_path, maven, gone):
    """No server, or one without the jar: the error names URL, proxy, mirror and the place by hand."""
    maven.file.unlink()
    environ = environment(tmp_path, None if gone else maven)
    with pytest.raises(jars.JarUnavailable, match=r"HTTPS_PROXY.*AUDIT_MAVEN_URL.*yourself") as caught:
        jars.resolve(environ, (JAR,))
    assert environ["AUDIT_MAVEN_URL"] in caught.value.message
    assert str(tmp_path / "cache" / JAR.name) in caught.value.message
    assert left_behind(tmp_path) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path, maven):
    """Where the cache folder cannot be made, the error names it and AUDIT_JARS_DIR."""
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(jars.JarUnavailable, match=r"cannot write .*cache.*set AUDIT_JARS_DIR"):
        jars.resolve(environment(tmp_path, maven), (JAR,))


def test_several_processes_at_once(tmp_path, maven):
    """Four processes on one empty cache all get the whole jar, and leave nothing else there."""
    program = (
        f"import os; from audit.spark.embedded import jars; print(*jars.resolve(os.environ, (jars.{JAR!r},)))"
    )
    environ = {**os.environ, **environment(tmp_path, maven), "PYTHONPATH": os.pathsep.join(sys.path)}
    with contextlib.ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", program], env=environ, stdout=subprocess.PIPE, text=True
                )
            )
            for _ in range(4)
        ]
        answers = {process.communicate()[0].strip() for process in running}
    assert answers == {str(tmp_path / "cache" / JAR.name)}
    assert (tmp_path / "cache" / JAR.name).read_bytes() == BYTES
    assert left_behind(tmp_path) == []
