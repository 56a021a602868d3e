"""Tag propagation: the columns that a statement wrote get the tags of their source columns.

In: the objects that a statement has written, with the sources of each column. Out: events in the log, and an
error for each tag that could not be set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from audit.policies.errors import BadPolicyError, PolicyError
from audit.policies.model.state import GovernanceState
from audit.policies.statements.propagate_tags import propagation_events, tags_to_propagate
from lineage.model import Domain, ModifiedObject
from lineage.names import split_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.policies.enforcement.enforcer import Enforcer
    from audit.policies.model.event_log import EventLog
    from audit.policies.model.events import GovernanceEvent


def propagate_tags(
    enforcer: Enforcer,
    event_log: EventLog,
    spark: SparkSession,
    written: Iterable[ModifiedObject],
    actor: Actor,
) -> list[PolicyError]:
    """Tag written columns as their source columns are tagged.

    Args:
        enforcer: resolves names, and lists what a policy reads.
        event_log: takes the events.
        spark: the session that knows the targets by their names.
        written: with the sources of each column.
        actor: whose statement it was.

    Returns:
        An error for each tag that could not be set; all others are set.
    """
    # FROM … INSERT … INSERT may write one table twice: the sources of both decide about its tags.
    targets: dict[str, list[ModifiedObject]] = {}
    for one in written:
        targets.setdefault(one.name.casefold(), []).append(one)
    problems: list[PolicyError] = []
    for ones in targets.values():
        # Spark resolves the name of a target only if there is a tag for it.
        if tags_to_propagate(ones, event_log.state()):
            problems += _propagate_to(enforcer, event_log, spark, ones, actor)
    return problems


def _propagate_to(
    enforcer: Enforcer, event_log: EventLog, spark: SparkSession, ones: Sequence[ModifiedObject], actor: Actor
) -> list[PolicyError]:
    from audit.spark.java_errors import JVM_ERRORS, java_text

    target, reads = ones[0], cache(enforcer.reads)
    if target.domain is Domain.STAGE and target.location is None:
        return []  # a sink that keeps nothing: noop, the console
    problems: list[PolicyError] = []

    def decide(state: GovernanceState) -> Sequence[GovernanceEvent]:
        nonlocal problems
        events, problems = propagation_events(tags_to_propagate(ones, state), found, reads, actor, state)
        return events

    try:
        if target.domain is Domain.STAGE:
            # A Delta table that is written by its path has Delta's id, so it can have tags, too.
            found = enforcer.describe(spark, ("delta", target.location or ""))
            found = replace(found, name=(target.name,))
        else:
            found = enforcer.describe(spark, split_name(target.name))
        event_log.change(decide)
    # The statement has committed already, so a target that Spark no longer finds must not fail it.
    except JVM_ERRORS as error:
        reason = java_text(error).partition("\n")[0]
        return [BadPolicyError(f"{target.name} carries no tags: {reason}", "write to a Delta table")]
    except PolicyError as error:
        return [error]
    return problems
