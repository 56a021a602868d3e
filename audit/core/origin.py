"""Where statements come from: the machine, the program and the user of the operating system.

In: this process. Out: `Origin`, which each record carries: PCI DSS 10.2.2 asks for the origination of an
event, whoever the audited user is.
"""

from __future__ import annotations

import getpass
import platform
import socket
import sys
from dataclasses import dataclass, fields
from importlib import metadata
from pathlib import Path

# Of TEST-NET-1 (RFC 5737): asking the kernel for a way to it sends nothing.
_ANYWHERE = ("192.0.2.1", 9)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a statement comes from; each field is None where nobody can tell.

    Attributes:
        client_address: the IP address of the machine, as others see it in its network.
        client_host: its name.
        client_program: the script, module or shell that runs.
        client_version: of Python and PySpark.
        os_user: the user of the operating system, whatever user the audit was told.
    """

    client_address: str | None = None
    client_host: str | None = None
    client_program: str | None = None
    client_version: str | None = None
    os_user: str | None = None


ORIGIN_FIELDS = tuple(one.name for one in fields(Origin))


def measured() -> Origin:
    """The origin of what this process runs."""
    return Origin(_address(), socket.gethostname() or None, _program(), _version(), _os_user())


def _address() -> str | None:
    """The address of the interface that leads out of this machine; that of the loopback where none does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(_ANYWHERE)
        except OSError:  # no route: a machine without a network
            return "127.0.0.1"
        return str(asked.getsockname()[0])


def _program() -> str | None:
    """The program's name, without its folder and arguments, which may hold secrets."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if "ipykernel" in sys.modules:
        return "ipykernel"
    if spec is not None:  # python -m package.module
        return str(spec.name).removesuffix(".__main__")
    name = Path(sys.argv[0]).name if sys.argv else ""
    return "python" if name in ("", "-c") else name  # a prompt, or a text that was handed over


def _version() -> str:
    return f"Python {platform.python_version()}, PySpark {metadata.version('pyspark')}"


def _os_user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a uid without an entry in passwd, as in containers
        return None
