"""What the tests of the views share."""

from __future__ import annotations

import pytest

from tests.views import three_days as history


@pytest.fixture(scope="session")
def three_days(spark, tmp_path_factory):
    """A session with the views over three days of statements of all kinds."""
    with pytest.MonkeyPatch.context() as patch:
        history.make(spark, tmp_path_factory.mktemp("data"), patch)
    yield spark
    spark.sql(f"DROP SCHEMA {history.SCHEMA} CASCADE")
