"""The job tags of Spark's executions: the query id of a statement, or a mark for work of the audit itself.

In: nothing. Out: tags, which `jvm.tagged` sets and `Executions` reads.
"""

from __future__ import annotations

PREFIX = "audit-"
"""Of all of them, those of `identity.user_tag` too."""
STATEMENT_TAG = f"{PREFIX}statement-"
"""The prefix of a query id: the tag of an execution of that statement."""
ANALYSIS_TAG = f"{PREFIX}analysis"
"""The tag of executions that resolve names or pass a result on: no statement."""
SUPPRESS_TAG = f"{PREFIX}suppressed"
"""The audit's own reads and writes."""
QUIET_TAGS = frozenset({ANALYSIS_TAG, SUPPRESS_TAG})
