"""`audit.expect`: does a table hold what is expected of it, for whoever asks, and which statement wrote that?

In: an audited session, a name, a suite of Great Expectations. Out: a `Validation`, recorded as well.
The table is read as any other: policies apply, and each read is a statement on record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit import attached_sessions
from audit.checks.engine import require_suite, run_suite
from audit.checks.results_table import append_results
from audit.checks.validation import ValidatedObject, Validation
from audit.core.clock import to_datetime
from audit.core.errors import AttachError, TableUnknown
from audit.core.identity import current_identity
from audit.core.ids import is_id
from audit.spark.delta.delta_log import commits_since
from audit.spark.sessions import current_schema, require_session
from audit.spark.unrecorded import unrecorded
from audit.time_travel.api import read
from lineage.names import split_name, sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.capture.audited_session import AuditedSession


def expect(spark: SparkSession, name: str, suite: Any) -> Validation:
    """Validate a table or view by a suite of Great Expectations, and record what was found.

    The session's user validates what he sees: masks and row access policies hold, and what he may not read
    becomes the outcome ERROR. A Delta table is read at one version. The outcomes go to the table
    `data_quality_results`, without values of what was validated; the view `data_quality` shows them beside
    the statement that wrote the version. `audit.lineage(…, failed_checks=True)` marks what fails.

    Args:
        spark: an audited session.
        name: `schema.table`, with the catalog before it where it is needed; a view as well.
        suite: a `great_expectations.ExpectationSuite`.

    Returns:
        The outcomes; it is true where each expectation holds.

    Raises:
        AttachError: the session is not audited.
        BadNameError: the name is none.
        GreatExpectationsMissing: Great Expectations is not installed.
        ResultsNotRecorded: the table was validated, and the outcomes could not be written.
        SuiteInvalid: the suite is none, or has no expectation.
        TableUnknown: there is nothing of that name.
    """
    wanted = require_suite(suite)
    audited = attached_sessions.find(require_session(spark))
    if audited is None:
        raise AttachError("this SparkSession is not audited", "call audit.attach(spark) first")
    services = audited.services
    run_time, run_id = services.clock(), services.new_id()
    with unrecorded():
        validated = _look_up(spark, audited, name)
    frame = spark.table(sql_name(split_name(name)))
    outcomes = run_suite(wanted, frame, validated.name, in_full=False)
    with unrecorded():
        moved = _look_up(spark, audited, name) != validated
    # Delta (4.4) reads the newest version at each action. Only now at a fixed one: whom a row access policy
    # hides rows from may not read the past.
    if moved and validated.version is not None:
        frame = read(spark, name, at=validated.version)
        outcomes = run_suite(wanted, frame, validated.name, in_full=False)
    user = current_identity(audited.identity).user
    found = Validation(run_id, to_datetime(run_time), user, validated, wanted.name, outcomes)
    with unrecorded():
        rows = found.rows(services.redaction.message)
        append_results(services.spark, services.config.root, services.config.schema, rows)
    return found


def _look_up(spark: SparkSession, audited: AuditedSession, name: str) -> ValidatedObject:
    """What a name means now, and which statement wrote it."""
    relation = audited.catalog.look_up(split_name(name), current_schema(spark))
    if relation is None:
        raise TableUnknown(f"there is no table or view {name!r}", "name one as schema.table")
    wrote = None
    if relation.version is not None and relation.location is not None:
        commits = commits_since(audited.services.spark, relation.location, 0) or ()
        wrote = next((one.query_id for one in commits if one.version == relation.version), None)
    return ValidatedObject(
        relation.name,
        relation.object_id,
        relation.domain.value,
        relation.version,
        wrote if wrote is not None and is_id(wrote) else None,
    )
