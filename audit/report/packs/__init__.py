"""Norms as orders of figures, a file each.

In: the name of a norm. Out: its `Pack`. What a norm asks for is quoted where it is short, and told otherwise;
the norm itself is what counts.
"""

from __future__ import annotations

import difflib

from audit.report.errors import ReportUnknown
from audit.report.model import Pack
from audit.report.packs.gdpr import GDPR
from audit.report.packs.hipaa import HIPAA
from audit.report.packs.pci_dss import PCI_DSS
from audit.report.packs.sox import SOX

__all__ = ["PACKS", "pack_of"]

PACKS = {one.name: one for one in (PCI_DSS, HIPAA, SOX, GDPR)}
"""All norms by name."""


def pack_of(name: str) -> Pack:
    """The norm of a name.

    Raises:
        ReportUnknown: there is none of that name.

    >>> pack_of("sox").title
    'Sarbanes-Oxley Act'
    """
    if name in PACKS:
        return PACKS[name]
    near = difflib.get_close_matches(name.lower(), PACKS, len(PACKS), cutoff=0.3)
    listed = ", ".join([*near, *(one for one in PACKS if one not in near)])
    raise ReportUnknown(f"there is no norm {name!r}", f"the norms are {listed}")
