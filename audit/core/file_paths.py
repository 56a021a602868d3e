"""The spellings of a path on this machine: `/a`, `file:/a`, `file:///a`. The only place that knows them.

In: a location as Spark, Delta, Hadoop or a user writes it. Out: one spelling of it, or a `Path`.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

FILE_SCHEME = r"^file:(//)?(?=/)"
"""What stands before the path; Python's and Spark's (Java's) regular expressions both take it."""

_FILE_SCHEME = re.compile(FILE_SCHEME)
# One letter before the colon is a drive of Windows.
_OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def without_scheme(location: str) -> str:
    """A location without `file:`, so that equal places have equal texts; other schemes stay.

    >>> without_scheme("file:///data/t/"), without_scheme("/data/t"), without_scheme("s3://b/t")
    ('/data/t', '/data/t', 's3://b/t')
    """
    return _FILE_SCHEME.sub("", location).rstrip("/")


def with_one_slash(location: str) -> str:
    """A location as Hadoop's `Path.toString` writes it.

    >>> with_one_slash("file:///data/t"), with_one_slash("s3://b/t")
    ('file:/data/t', 's3://b/t')
    """
    return _FILE_SCHEME.sub("file:", location)


def spellings(path: str) -> tuple[str, ...]:
    """The ways in which Spark, Hive and Delta write an absolute path of this machine.

    >>> spellings("/a b")
    ('/a b', 'file:/a b', 'file:///a b', '/a%20b', 'file:/a%20b', 'file:///a%20b')
    """
    return tuple(f"{scheme}{one}" for one in (path, quote(path)) for scheme in ("", "file:", "file://"))


def local_path(location: str) -> Path | None:
    """A location as a path of this machine, None when it is elsewhere.

    >>> local_path("file:///tmp/a").as_posix()
    '/tmp/a'
    >>> local_path("/tmp/a").as_posix()
    '/tmp/a'
    >>> local_path("s3a://bucket/a")
    """
    if location.startswith("file:"):
        return Path(_FILE_SCHEME.sub("", location).removeprefix("file:").removeprefix("//"))
    return None if _OTHER_SCHEME.match(location) else Path(location)
