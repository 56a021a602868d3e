"""How an answer is handed over on the standard output.

In: text, or bytes. Out: all of it is written, or an error says so.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from audit.core.errors import OutputUnwritable

_WAY_OUT = "make room there, or name a file by --output where the command has it"


def hand_over(content: str | bytes) -> None:
    """Write an answer, and see it written.

    Args:
        content: text, in whose place a letter that the terminal's encoding lacks is an escape; or bytes.

    Raises:
        BrokenPipeError: the reader has closed the pipe, as `head` does.
        OutputUnwritable: it cannot be written.
    """
    stream = sys.stdout
    if stream is None:  # Python's, where it is closed
        raise OutputUnwritable("the standard output is closed", _WAY_OUT)
    try:
        if isinstance(content, bytes):
            stream.flush()
            stream.buffer.write(content)
        else:
            encoding = stream.encoding or "utf-8"
            stream.write(content.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except OSError as error:
        _give_up()
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputUnwritable(
            f"the answer cannot be written to the standard output ({error.strerror or error})", _WAY_OUT
        ) from error


def _give_up() -> None:
    # What is left in the buffer would fail once more when Python ends, with an error of its own.
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
