"""A root with a statement of each kind, and its events."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from audit.cli import main

from .roots import exchange_root


@pytest.fixture(scope="session")
def exchanged(tmp_path_factory):
    """The root."""
    return exchange_root(tmp_path_factory.mktemp("exchanged"))


@pytest.fixture(scope="session")
def command():
    """Runs a command of `audit` in this process; its output, once it has gone well."""

    def run(*arguments, code=0):
        done = CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)
        assert done.exit_code == code, done.output
        return done

    return run


@pytest.fixture(scope="session")
def events(exchanged, command):
    """All events of the root, as the command writes them to stdout."""
    said = command("export", "openlineage", "--root", exchanged).stdout
    return [json.loads(line) for line in said.splitlines()]
