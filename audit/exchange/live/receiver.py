"""Where events go: a URL, or a file.

In: events as JSON. Out: they were taken, or an error says whether to try again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import SplitResult, urlsplit

from audit.core.file_paths import local_path

_SECONDS = 30.0
_LATER = frozenset({401, 403, 404, 408, 425, 429})
"""Answers about the receiver and who asks it, not about the event."""
_KEY = "OPENLINEAGE_API_KEY"


class NotNow(Exception):
    """The receiver cannot be reached, or takes nothing now."""


class Refused(Exception):
    """The receiver takes all but this event."""


class Receiver(Protocol):
    """What takes events."""

    def send(self, events: Sequence[bytes]) -> None:
        """Hand over the events of one statement.

        Raises:
            NotNow: try again later.
            Refused: one of them is never taken.
        """

    def close(self) -> None:
        """Free what is open."""


def receiver_of(url: str, environ: Mapping[str, str] | None = None) -> Receiver:
    """The receiver of a configuration.

    Args:
        url: `http://`, `https://`, or the path of a file.
        environ: has OPENLINEAGE_API_KEY where the receiver wants one; by default this process's.
    """
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        return HttpReceiver(parts, (os.environ if environ is None else environ).get(_KEY))
    return FileReceiver(local_path(url) or Path(url))


class FileReceiver:
    """Appends lines to a file, synced to the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send(self, events: Sequence[bytes]) -> None:
        """See `Receiver.send`."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                self._append(file, b"".join(event + b"\n" for event in events))
        except OSError as error:
            raise NotNow(f"{self._path}: {error.strerror or error}") from error

    def close(self) -> None:
        """See `Receiver.close`."""

    def _append(self, file: BinaryIO, lines: bytes) -> None:
        """All of the lines, or none: a full disk leaves no half of one."""
        whole = file.seek(0, os.SEEK_END)
        try:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), whole)
            raise


class HttpReceiver:
    """Posts each event, as OpenLineage's HTTP transport does; one connection, made again when it breaks."""

    def __init__(self, url: SplitResult, api_key: str | None) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._connection: HTTPConnection | None = None

    def send(self, events: Sequence[bytes]) -> None:
        """See `Receiver.send`."""
        for event in events:
            status, said = self._posted(event)
            if status in _LATER or status >= 500:  # noqa: PLR2004 - of HTTP
                raise NotNow(f"{self._url.netloc} answers {status} {said}".strip())
            if status >= 300:  # noqa: PLR2004 - of HTTP
                raise Refused(f"{status} {said}".strip())

    def close(self) -> None:
        """See `Receiver.close`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _posted(self, event: bytes) -> tuple[int, str]:
        path = self._url.path or "/api/v1/lineage"
        target = f"{path}?{self._url.query}" if self._url.query else path
        try:
            connection = self._connection or self._connected()
            connection.request("POST", target, event, self._headers)
            answer = connection.getresponse()
            said = answer.read().decode("utf-8", "replace")
        except (OSError, HTTPException) as error:
            self.close()
            raise NotNow(f"{self._url.netloc}: {str(error) or type(error).__name__}") from error
        return answer.status, " ".join(said.split())[:200]

    def _connected(self) -> HTTPConnection:
        kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
        self._connection = kind(self._url.hostname or "", self._url.port, timeout=_SECONDS)
        return self._connection
