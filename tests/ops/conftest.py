"""The operations work in a session of the audit's own."""

import pytest

from audit.store.own_session import own_session


@pytest.fixture(scope="module")
def spark(spark):
    """The audit's own session beside the one of the test process."""
    return own_session(spark)
