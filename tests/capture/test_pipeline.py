"""The stages of a statement: their order, what each answers, and how their handlers stand in one another."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import lineage
from audit.copy_into import run_copy
from audit.core.actor import Actor
from audit.pipeline import STAGES, CopyInto, PastVersions, chained, handlers_of

ACTOR = Actor(5, "ann", "q", lambda: "id")


def test_the_order_of_the_stages():
    """COPY INTO is run as other statements; the past is read before anything is decided about a text."""
    assert [type(stage).__name__ for stage in STAGES] == [
        "CopyInto", "PastVersions", "PoliciesStage", "BackupsStage", "TimeTravelStage",
    ]  # fmt: skip


def test_handlers_stand_in_one_another():
    """The first is the outermost; each gets the text that the one around it has sent."""

    def adding(mark):
        return lambda spark, text, actor, run: f"{mark}({run(spark, f'{text}{mark}')}, {actor.user})"

    run = chained([adding("a"), adding("b")], ACTOR, lambda _spark, text: f"Spark: {text}")
    assert run(None, "t") == "a(b(Spark: tab, ann), ann)"


def test_without_handlers_spark_runs_it():
    """It is Spark's own way, unchanged."""

    def run(_spark, text):
        return text

    assert chained((), ACTOR, run) is run


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("COPY INTO t FROM '/p' FILEFORMAT = CSV", True),
        ("SELECT 1", False),
        ("INSERT INTO t SELECT 1", False),
    ],
)
def test_copy_into_is_answered_by_its_stage(text, answers):
    """Nothing else is."""
    assert (CopyInto().handler_for(lineage.parse(text), None) is not None) is answers
    assert callable(run_copy)


class Travel:
    """Time Travel as the stages ask it: every text that is about the past reads version 3."""

    def reads_versions(self, statement):
        """By its points in time."""
        return bool(statement.points)

    @contextmanager
    def at_versions(self, _spark, statement):
        """To a version."""
        yield statement.text.replace("@v3", " VERSION AS OF 3")

    def handler_for(self, _statement):
        """None."""


def _services(travel):
    policies = SimpleNamespace(handler_for=lambda _statement, _staging: None)
    return SimpleNamespace(time_travel=travel, policies=policies)


def _run(text, services, actor=ACTOR):
    handlers = handlers_of(lineage.parse(text), services)
    return chained(handlers, actor, lambda spark, sent: (spark, sent))("session", text)


def test_a_query_of_the_present_has_no_handler():
    """It goes to Spark as it was written."""
    assert handlers_of(lineage.parse("SELECT a FROM t"), _services(Travel())) == ()


def test_the_past_is_read_by_version():
    """The text gets the version, and the session stays the user's."""
    services = _services(Travel())
    assert _run("SELECT a FROM t@v3", services) == ("session", "SELECT a FROM t VERSION AS OF 3")
    assert PastVersions().handler_for(lineage.parse("SELECT a FROM t"), services) is None
