"""A session of an administrator's, and users who see less."""

from __future__ import annotations

import pytest

import audit


@pytest.fixture(scope="module")
def session(spark, tmp_path_factory):
    """Audited, of ann, who administers; Delta where a statement names no provider."""
    session = spark.newSession()
    session.conf.set("spark.sql.sources.default", "delta")
    audit.attach(session, user="ann", root=str(tmp_path_factory.mktemp("audit")))
    yield session
    audit.detach(session)
    session.sql("DROP SCHEMA IF EXISTS account_usage CASCADE")


@pytest.fixture
def schema(session, request):
    """A new current schema, gone after the test."""
    name = "p_" + request.node.originalname.removeprefix("test_")[:40]
    session.sql(f"CREATE SCHEMA {name}")
    session.sql(f"USE {name}")
    yield name
    session.sql("USE default")
    session.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")
