"""What a caller of the API gets wrong is an error of ours, with its way out."""

from __future__ import annotations

import pytest

import audit
import views
from audit import testing
from audit.core.errors import AttachError, ConfigInvalid, RootUnreachable
from audit.policies import attached as policies
from audit.spark.sessions import require_session
from audit.time_travel import api as time_travel
from tests.sessions import NO_TABLES, attached

CALLS = {
    "attach": audit.attach,
    "detach": audit.detach,
    "flush": audit.flush,
    "coverage": audit.coverage,
    "as_user": lambda spark: audit.as_user(spark, "ann").__enter__(),
    "records": testing.records,
    "install": views.install,
    "leaks": policies.leaks,
}


@pytest.mark.parametrize("value", [None, "spark", 5, object()], ids=["None", "text", "number", "object"])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_session_is_refused(name, value):
    """By every function that takes one, without Spark."""
    with pytest.raises(AttachError, match="is no SparkSession; give the session") as error:
        CALLS[name](value)
    assert error.value.code == "AUDIT_ATTACH"


class Stopped:
    """What PySpark leaves of a session that was stopped."""

    class sparkContext:  # noqa: N801 - PySpark's name
        """Without its JVM."""

        _jsc = None

    _jsparkSession = None  # noqa: N815 - PySpark's name


def test_a_stopped_session_is_refused_and_detach_leaves_it(monkeypatch):
    """Its audit has ended with it."""
    stopped = Stopped()
    monkeypatch.setattr("pyspark.sql.SparkSession", Stopped)
    with pytest.raises(AttachError, match=r"has been stopped.*start another one"):
        require_session(stopped)
    for name in ("attach", "flush", "coverage", "as_user", "records"):
        with pytest.raises(AttachError, match="has been stopped"):
            CALLS[name](stopped)
    audit.detach(stopped)


@pytest.mark.spark
def test_who_acts_is_named(spark, tmp_path):
    """None is no user, and a text is no list of roles."""
    with attached(spark, tmp_path, **NO_TABLES) as session:
        for user in (None, "", " ", 5):
            with pytest.raises(ConfigInvalid, match="name a user"), audit.as_user(session, user):
                pass
        for roles in ("hr", ["hr", None], [""]):
            with (
                pytest.raises(ConfigInvalid, match="give a list of names"),
                audit.as_user(session, "ann", roles),
            ):
                pass
        with pytest.raises(ConfigInvalid, match=r"\['hr'\]"):
            audit.attach(session, roles="hr")


@pytest.mark.spark
def test_a_root_that_spark_cannot_reach_is_named(spark):
    """Without the jar of its scheme, or with one that nobody knows; nothing is attached then."""
    session = spark.newSession()
    for root in ("s3a://bucket/audit", "foo://host/audit"):
        with pytest.raises(RootUnreachable, match=rf"{root}.*spark.jars.packages"):
            audit.attach(session, root=root)
    with pytest.raises(AttachError, match="not audited"):
        audit.flush(session)


@pytest.mark.spark
def test_the_spool_of_another_root_is_refused(spark, tmp_path):
    """Else its records would come into the wrong tables."""
    session = spark.newSession()
    one, two, spool = tmp_path / "one", tmp_path / "two", tmp_path / "spool"
    audit.attach(session, root=str(one), spool_dir=str(spool), **NO_TABLES)
    audit.detach(session)
    with pytest.raises(ConfigInvalid, match=rf"{one} has recorded, not {two}"):
        audit.attach(session, root=str(two), spool_dir=str(spool), **NO_TABLES)
    audit.attach(session, root=str(one), spool_dir=str(spool), **NO_TABLES)
    audit.detach(session)
    (one / "access_history" / "_delta_log").mkdir(parents=True)
    with pytest.raises(ConfigInvalid, match="has recorded"):
        audit.attach(session, root=str(two), spool_dir=str(one / "spool"), **NO_TABLES)


def test_time_travel_and_lineage_ask_for_a_session_too():
    """As everything that is called with one."""
    for call in (time_travel.replay, audit.lineage):
        with pytest.raises(AttachError, match="no SparkSession"):
            call(None, "s.t")
