"""Virtual environments of the peers: each has dependencies of its own, none of them ours.

In: a name of `PEERS`. Out: the Python of its environment, made on first use under `.data/peers`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.result import DATA, Say

PEERS = {
    "datahub": ("acryl-datahub[sql-parser]==1.7.0.17", "sqlglot[c]==30.12.0"),
    "sqllineage": ("sqllineage==1.5.9", "sqlfluff==4.5.0"),
    "openlineage": ("openlineage-sql==1.54.0",),
}
"""What is installed for each; what else they need, pip chooses."""


def python_of(peer: str, say: Say) -> Path:
    """The interpreter that has the peer; another version of it is another environment."""
    wanted = PEERS[peer]
    folder = (
        DATA / "peers" / f"{peer}-{wanted[0].partition('==')[2]}-{sys.version_info[0]}.{sys.version_info[1]}"
    )
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "installed"
    if not stamp.exists():
        say(f"installing {' '.join(wanted)}")
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        subprocess.run(install, check=True)
        stamp.write_text("\n".join(wanted), encoding="utf-8")
    return python
