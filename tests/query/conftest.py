"""A root on which nothing has happened yet."""

from __future__ import annotations

import pytest

from audit.query.tables import opened

from .roots import add_catalog, make_root


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """Its tables, and an empty catalog; storage was not measured."""
    root = make_root(tmp_path_factory.mktemp("root"), {})
    add_catalog(root, [])
    with opened(root) as found:
        yield found
