"""The job tags of Spark's executions: the query id of a statement, or a mark for work of the audit itself.

In: nothing. Out: tags, which `jvm.tagged` sets and `Executions` reads.
"""

from __future__ import annotations

STATEMENT_TAG = "audit-statement-"
"""The prefix of a query id: the tag of an execution of that statement."""
ANALYSIS_TAG = "audit-analysis"
"""The tag of executions that resolve names or pass a result on: no statement."""
SUPPRESS_TAG = "audit-suppressed"
"""The audit's own reads and writes."""
QUIET_TAGS = frozenset({ANALYSIS_TAG, SUPPRESS_TAG})
