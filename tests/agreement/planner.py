"""Statements to analyzed plans, and these to accesses; nothing runs.

In: a session. Out: what the plan engine says of a text.
"""

from __future__ import annotations

from audit.spark.plans.plan_facts import PlanFactsReader
from lineage.plan import analyze_plan


class Planner:
    """The plan engine over one session.

    Args:
        session: whose tables the statements name.
        registered: tables by the locations at which statements may name them.
    """

    def __init__(self, session, registered=()):
        jvm = session.sparkContext._jvm
        self._state = session._jsparkSession.sessionState()
        self._skip = jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
        self._reader = PlanFactsReader(jvm)
        self._registered = dict(registered)

    def access(self, sql):
        """What the plan engine says of a statement, which is analysed and not run."""
        plan = self._state.sqlParser().parsePlan(sql)
        execution = self._state.executePlan(plan, self._skip)
        return analyze_plan(*self._reader.read(execution.analyzed(), self._registered))
