"""A root on which nothing has happened yet."""

from __future__ import annotations

import pytest

from audit.query.tables import opened

from .roots import add_catalog, add_storage, make_root


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """Its tables; an empty catalog and no storage were measured."""
    root = make_root(tmp_path_factory.mktemp("root"), {})
    add_catalog(root, [])
    add_storage(root, [])
    with opened(root) as found:
        yield found
