"""The operations work in a session of the audit's own."""

import pytest

from audit.spark.sessions import own_session

from .helpers import Source, make_tables


@pytest.fixture(scope="module")
def spark(spark):
    """The audit's own session beside the one of the test process."""
    return own_session(spark)


@pytest.fixture
def source(spark, tmp_path):
    """A living driver's spool on a root with empty tables."""
    make_tables(spark, tmp_path)
    return Source(tmp_path)
