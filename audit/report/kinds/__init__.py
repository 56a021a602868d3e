"""The reports, a file each.

In: the name of a report. Out: its `Kind`. A report about one thing has a `find`, which says what a name means
and gives the parameters of its SQL; a new one of this kind is a file here and a line in KINDS.
"""

from __future__ import annotations

import difflib

from audit.report.errors import ReportUnknown
from audit.report.kinds.access import ACCESS
from audit.report.kinds.changes import CHANGES
from audit.report.kinds.lineage import LINEAGE
from audit.report.kinds.object import OBJECT
from audit.report.kinds.privileges import PRIVILEGES
from audit.report.kinds.records import RECORDS
from audit.report.kinds.retention import RETENTION
from audit.report.kinds.sensitive_data import SENSITIVE_DATA
from audit.report.kinds.subject import SUBJECT
from audit.report.kinds.user import USER
from audit.report.model import Figure, Kind

__all__ = ["KINDS", "REPORTS", "all_figures", "kind_of"]

KINDS = {
    one.name: one for one in (ACCESS, SENSITIVE_DATA, CHANGES, PRIVILEGES, LINEAGE, RETENTION, USER, OBJECT)
}
"""The reports that queries alone answer by name, in the order in which they are listed."""
REPORTS = {**KINDS, SUBJECT.name: SUBJECT}
"""All reports."""


def kind_of(name: str) -> Kind:
    """The report of a name.

    Raises:
        ReportUnknown: there is none of that name.

    >>> kind_of("access").title
    'Who read what'
    """
    if name in REPORTS:
        return REPORTS[name]
    near = difflib.get_close_matches(name.lower(), REPORTS, len(REPORTS), cutoff=0.4)
    listed = ", ".join([*near, *(one for one in REPORTS if one not in near)])
    raise ReportUnknown(f"there is no report {name!r}", f"the reports are {listed}")


def all_figures() -> dict[str, Figure]:
    """The figures by name of all reports that are about a whole root.

    >>> "who_read_what" in all_figures(), "user_summary" in all_figures()
    (True, False)
    """
    whole = [figure for kind in KINDS.values() if kind.find is None for figure in kind.figures]
    return {figure.name: figure for figure in (*RECORDS.figures, *whole)}
