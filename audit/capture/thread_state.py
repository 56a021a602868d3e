"""What a thread is doing in an audited session.

In: a session's calls. Out: the statement that the thread runs, and under which governance and identity.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audit.policies.model.state import GovernanceState


class ThreadState(threading.local):
    """The state of a thread in a session.

    Attributes:
        query_id: of the statement that it runs; `ANALYSIS_TAG` inside `quiet`, None outside of both.
        governance: the state that it read last.
        token: the identity that its statements run under, see `Enforcer.token`.
    """

    query_id: str | None = None
    governance: GovernanceState | None = None
    token: str | None = None
