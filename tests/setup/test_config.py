"""The configuration: four places, one order, and errors that name the key."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from audit.core.config import TABLE_NAMES, Config, ConfigInvalid, load
from audit.store.tables import AUDIT_TABLES


def made(tmp_path, environ=None, **arguments):
    """A configuration that sees nothing of this machine."""
    return load(arguments, environ=environ or {}, directory=tmp_path, os_user=lambda: "ada")


def test_defaults_need_nothing(tmp_path):
    """With nothing set, the root is .audit in the current folder; the system's user works and administers."""
    found = made(tmp_path)
    root = tmp_path / ".audit"
    places = {"spool_dir": str(root / "spool"), "backup_location": str(root / "backups")}
    assert found == Config(root=str(root), user="ada", admins="ada", **places)
    assert (found.sources["user"], found.sources["spool_dir"], found.sources["root"]) == (
        "operating system",
        "from root",
        "default",
    )


def test_argument_beats_environment_beats_file_beats_default(tmp_path):
    """Each of the four places wins over those after it, and the source of each field is remembered."""
    (tmp_path / ".audit").mkdir()
    (tmp_path / ".audit" / "audit.toml").write_text('user = "file"\nrole = "file"\nretention_days = 7\n')
    found = made(tmp_path, {"AUDIT_USER": "environment", "AUDIT_ROLE": "environment"}, user="argument")
    assert (found.user, found.role, found.retention_days, found.schema) == (
        "argument",
        "environment",
        7,
        "account_usage",
    )
    assert [found.sources[name] for name in ("user", "role", "retention_days", "schema")] == [
        "argument",
        "AUDIT_ROLE",
        str(tmp_path / ".audit" / "audit.toml"),
        "default",
    ]


def test_audit_config_names_the_file_and_may_set_root(tmp_path):
    """AUDIT_CONFIG names a file anywhere, which may set the root too."""
    (tmp_path / "my.toml").write_text('root = "elsewhere"\n')
    assert made(tmp_path, {"AUDIT_CONFIG": "my.toml"}).local_root == tmp_path / "elsewhere"


def test_none_is_not_given(tmp_path):
    """An argument that is None leaves the word to the others."""
    assert made(tmp_path, {"AUDIT_USER": "bob"}, user=None).user == "bob"


def test_a_root_that_is_not_local_spools_in_the_state_folder(tmp_path):
    """The spool is always local; two remote roots have two spools."""
    environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
    one = made(tmp_path, environ, root="s3a://bucket/one")
    two = made(tmp_path, environ, root="s3a://bucket/two")
    assert one.root == "s3a://bucket/one"
    assert one.local_root is None
    assert one.spool_dir != two.spool_dir
    assert Path(one.spool_dir).is_relative_to(tmp_path / "state")


def test_environment_is_typed(tmp_path):
    """Numbers and booleans are read from text; empty text counts as not set."""
    found = made(tmp_path, {"AUDIT_DURABLE": "No", "AUDIT_RETENTION_DAYS": "30", "AUDIT_ROLE": ""})
    assert (found.durable, found.retention_days, found.role) == (False, 30, None)


def test_tables_may_be_kept_for_longer(tmp_path):
    """Six years of access, seven of statements, and the rest as all."""
    found = made(tmp_path, retention_by_table="access_history=2190, query_history = 2555")
    assert {name: found.days_of(name) for name in TABLE_NAMES} == {
        "access_history": 2_190, "query_history": 2_555, "column_lineage": 365, "table_lineage": 365,
    }  # fmt: skip
    assert {table.name for table in AUDIT_TABLES} == TABLE_NAMES


def test_other_softwares_variables_are_left_alone(tmp_path):
    """AUDIT_LOG_PATH and the like belong to others and do no harm."""
    assert made(tmp_path, {"AUDIT_LOG_PATH": "/var/log", "AUDIT_JARS_DIR": "/opt"}).user == "ada"


@pytest.mark.parametrize(
    ("environ", "arguments", "says"),
    [
        ({}, {"retention_day": 1}, "there is no 'retention_day'; the nearest is 'retention_days'"),
        (
            {"AUDIT_RETENTION_DAY": "1"},
            {},
            "AUDIT_RETENTION_DAY means nothing here; AUDIT_RETENTION_DAYS would",
        ),
        ({"AUDIT_DURABLE": "maybe"}, {}, "AUDIT_DURABLE is 'maybe'"),
        ({"AUDIT_RETENTION_DAYS": "x"}, {}, "AUDIT_RETENTION_DAYS is 'x'; it is a whole number"),
        ({"AUDIT_INGEST": "cron"}, {}, r"ingest \(AUDIT_INGEST\) is 'cron'; it is 'thread' or 'external'"),
        (
            {},
            {"on_record_failure": "ignore"},
            r"on_record_failure \(argument\) is 'ignore'; it is 'block' or 'warn'",
        ),
        ({}, {"retention_days": 0}, "retention_days .* at least 1"),
        (
            {},
            {"retention_by_table": "access_histry=9"},
            "retention_by_table .* the tables are access_history",
        ),
        ({"AUDIT_RETENTION_BY_TABLE": "query_history=long"}, {}, "AUDIT_RETENTION_BY_TABLE"),
        ({}, {"query_tag": "x" * 2_001}, "query_tag .* up to 2000 characters"),
        ({}, {"retention_days": True}, "retention_days .* is True"),
        ({}, {"spool_max_bytes": 10}, r"spool_max_bytes .*\(1 MiB\)"),
        ({}, {"schema": "a.b"}, "schema .* is 'a.b'"),
        ({}, {"user": " "}, "user .* is ' '"),
        ({}, {"spool_dir": "s3a://bucket/spool"}, "spool_dir .* a folder of this machine"),
        ({"AUDIT_CONFIG": "missing.toml"}, {}, "cannot read the configuration .*missing.toml"),
    ],
)
def test_what_cannot_be_names_the_key(tmp_path, environ, arguments, says):
    """Unknown keys and impossible values are errors that name the key, its source and what it can be."""
    with pytest.raises(ConfigInvalid, match=says):
        made(tmp_path, environ, **arguments)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rots = 1", r"audit\.toml: there is no 'rots'; the nearest is 'root'"),
        ("root = 'x'", "because it lies there"),
        ("root =", r"cannot read the configuration .*audit\.toml"),
        ("durable = 'yes'", r"durable \(.*audit\.toml\) is 'yes'; it is true or false"),
    ],
)
def test_a_bad_file_is_named(tmp_path, text, says):
    """An error out of the file names the file."""
    (tmp_path / "audit.toml").write_text(text)
    with pytest.raises(ConfigInvalid, match=says):
        made(tmp_path, root=str(tmp_path))


def test_an_unknown_user_says_what_to_set(tmp_path):
    """A container whose uid has no name gets a sentence, not a KeyError."""

    def nobody():
        raise KeyError("getpwuid(): uid not found: 12345")

    with pytest.raises(ConfigInvalid, match="set user or AUDIT_USER"):
        load({}, environ={}, directory=tmp_path, os_user=nobody)


def test_it_is_frozen(tmp_path):
    """Nobody changes a configuration that others have read."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        made(tmp_path).user = "eve"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "home"),
    [
        ({"root": "/r"}, "/r"),
        ({"root": "/r", "spool_dir": "/fast/one"}, "/fast/one"),
        ({"root": "/r", "spool_dir": "/fast/one/spool"}, "/fast/one"),
        ({"root": "/r", "spool_dir": "file:///fast/two"}, "/fast/two"),
        ({"root": "s3a://a/x"}, "/state/spark-access-history/spool/s3a-a-x-678cfec1"),
        ({"root": "s3a://b/x"}, "/state/spark-access-history/spool/s3a-b-x-8f818b6c"),
    ],
)
def test_every_root_has_its_own_spools(given, home, tmp_path):
    """Two roots never share the folder of their drivers' spools: one would take in the other's records."""
    config = load(given, environ={"XDG_STATE_HOME": "/state"}, directory=tmp_path)
    assert str(config.spool_home) == home
