"""Every field of the configuration can be set in each of four places, and the first that names it wins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.config import FILE_NAME, Config, load
from audit.core.errors import ConfigInvalid, ConfigUnknownKey, ConfigUnreadable

# docs/reference/configuration.md: three values of each key that can be told apart, but for `root`, which
# says where the file lies.
VALUES = {
    "user": ("ann", "bob", "Zoë, or 'x'"),
    "role": ("analyst", "reader", "a b"),
    "schema": ("usage", "_u1", "ACCOUNT_USAGE"),
    "on_record_failure": ("warn", "block", "warn"),
    "spool_dir": ("/one", "/two", "/three"),
    "backup_location": ("/four", "s3a://b/five", "/six"),
    "spool_max_bytes": (1 << 20, 1 << 21, 1 << 40),
    "durable": (False, True, False),
    "ingest": ("external", "thread", "external"),
    "ingest_interval_seconds": (1, 2, 3),
    "retention_days": (1, 30, 100_000),
    "listener": (False, True, False),
    "cross_check": (0.0, 0.25, 1.0),
    "account": ("a", "b", "c"),
    "admins": ("ann", "ann,bob", "eve"),
    "enforce_privileges": (True, False, True),
    "propagate_tags": (True, False, True),
    "redact": ("literals", "keys", "literals"),
    "redact_pattern": ("a+", "b+", "c+"),
    "retention_by_table": ("access_history=9", "query_history=8, column_lineage=7", "table_lineage=6"),
    "aggregated_tables": ("shop.sessions", "a.b, cache.*", "c.d"),
    "query_tag": ("nightly", "load 4", "x"),
    "openlineage_namespaces": ("hive://m:9083=spark_catalog", "a=b, c=d", "spark://t=lake"),
    "openlineage_url": (
        "http://m:5000",
        "https://d/openapi/openlineage/api/v1/lineage",
        "/var/events.ndjson",
    ),
    "purpose": ("billing", "art. 15", "y"),
}
LAYERS = ("argument", "environment", "file")
DEFAULTS = {
    "role": None,
    "schema": "account_usage",
    "on_record_failure": "block",
    "spool_max_bytes": 1 << 30,
    "durable": True,
    "ingest": "thread",
    "ingest_interval_seconds": 300,
    "retention_days": 365,
    "listener": True,
    "cross_check": 0.1,
    "account": "local",
    "enforce_privileges": False,
    "propagate_tags": False,
    "redact": "keys",
    "redact_pattern": "",
    "retention_by_table": "",
    "openlineage_namespaces": "",
    "openlineage_url": "",
    "query_tag": "",
    "purpose": "",
}


def made(directory, environ=None, **arguments):
    """A configuration that sees nothing of this machine."""
    return load(arguments, environ=environ or {}, directory=directory, os_user=lambda: "ada")


@pytest.mark.parametrize(("name", "value"), DEFAULTS.items())
def test_defaults_are_those_of_the_documentation(tmp_path, name, value):
    """docs/reference/configuration.md, column "default"."""
    assert getattr(made(tmp_path), name) == value


def test_the_table_of_values_knows_every_field():
    """A new field is tested like the others."""
    assert {*VALUES, "root", "sources"} == set(Config.__dataclass_fields__)


@given(st.dictionaries(st.sampled_from(sorted(VALUES)), st.sets(st.sampled_from(LAYERS), min_size=1)))
def test_the_first_place_that_names_a_field_wins(tmp_path_factory, placed):
    """Whatever the fields and places: argument, environment, file, default; `sources` says which it was."""
    directory = tmp_path_factory.mktemp("config")
    given_in = {layer: {} for layer in LAYERS}
    for name, layers in placed.items():
        for layer in layers:
            given_in[layer][name] = VALUES[name][LAYERS.index(layer)]
    file = directory / "some.toml"
    file.write_text("".join(f"{name} = {json.dumps(v)}\n" for name, v in given_in["file"].items()), "utf-8")
    environ = {f"AUDIT_{name.upper()}": str(value) for name, value in given_in["environment"].items()}
    found = made(directory, environ | {"AUDIT_CONFIG": str(file)}, **given_in["argument"])
    for name, layers in placed.items():
        first = next(layer for layer in LAYERS if layer in layers)
        source = {"argument": first, "environment": f"AUDIT_{name.upper()}", "file": str(file)}[first]
        assert (getattr(found, name), found.sources[name]) == (given_in[first][name], source)
    assert set(found.sources) == {*VALUES, "root"}


@pytest.mark.parametrize(
    ("text", "value"),
    [(word, True) for word in ("true", "TRUE", "1", "yes", "On")]
    + [(word, False) for word in ("false", "False", "0", "no", "OFF")],
)
def test_a_variable_says_yes_or_no_in_five_ways(tmp_path, text, value):
    """Case does not matter."""
    assert made(tmp_path, {"AUDIT_PROPAGATE_TAGS": text}).propagate_tags is value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("durable", "2"),
        ("durable", "y"),
        ("listener", "none"),
        ("retention_days", "7.5"),
        ("retention_days", "1e3"),
        ("spool_max_bytes", "1GiB"),
        ("ingest_interval_seconds", "5m"),
        ("cross_check", "half"),
        ("cross_check", "0,5"),
    ],
)
def test_a_variable_of_another_type_is_named(tmp_path, name, text):
    """The error has the variable, its text and what it can be."""
    with pytest.raises(ConfigInvalid, match=rf"AUDIT_{name.upper()} is '{text}'; it is "):
        made(tmp_path, {f"AUDIT_{name.upper()}": text})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cross_check", 1.01),
        ("cross_check", -0.1),
        ("cross_check", float("nan")),
        ("cross_check", float("inf")),
        ("cross_check", True),
        ("retention_days", -1),
        ("retention_days", 7.0),
        ("retention_days", "7"),
        ("ingest_interval_seconds", 0),
        ("spool_max_bytes", (1 << 20) - 1),
        ("durable", "true"),
        ("durable", 1),
        ("schema", ""),
        ("schema", "1a"),
        ("schema", "a-b"),
        ("schema", "a`b"),
        ("schema", "a;DROP TABLE t"),
        ("ingest", "Thread"),
        ("on_record_failure", ""),
        ("on_record_failure", ["block"]),
        ("user", ""),
        ("user", "\t\n"),
        ("user", 5),
        ("role", ""),
        ("account", " "),
        ("root", ""),
        ("spool_dir", ""),
        ("spool_dir", "hdfs://name/spool"),
    ],
)
def test_a_value_out_of_bounds_is_named(tmp_path, name, value):
    """The error has the field, where it was set and its value, whatever was given."""
    with pytest.raises(ConfigInvalid) as refused:
        made(tmp_path, **{name: value})
    assert refused.value.problem == f"{name} (argument) is {value!r}"
    assert refused.value.way_out.startswith("it is ")


@pytest.mark.parametrize("value", [0, 1])
def test_a_whole_number_is_a_share(tmp_path, value):
    """0 and 1 are valid where 0.5 is, from Python and from a file."""
    (tmp_path / FILE_NAME).write_text(f"cross_check = {value}\n")
    for found in (made(tmp_path, cross_check=value), made(tmp_path, root=str(tmp_path))):
        assert (found.cross_check, type(found.cross_check)) == (float(value), float)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("AUDIT_JAR_DIR", "AUDIT_JARS_DIR"),
        ("AUDIT_CONFIGS", "AUDIT_CONFIG"),
        ("AUDIT_MAVEN_URI", "AUDIT_MAVEN_URL"),
        ("AUDIT_SPOOL_DIRS", "AUDIT_SPOOL_DIR"),
        ("AUDIT_USERS", "AUDIT_USER"),
    ],
)
def test_a_variable_that_is_nearly_ours_is_refused(tmp_path, variable, meant):
    """A slip of the pen must not go unseen."""
    with pytest.raises(ConfigUnknownKey, match=f"{variable} means nothing here; {meant} would"):
        made(tmp_path, {variable: "x"})


@pytest.mark.parametrize("variable", ["audit_user", "AUDIT", "AUDIT_", "MY_AUDIT_USER", "AUDITD_ROOT"])
def test_other_variables_are_left_alone(tmp_path, variable):
    """Names of the environment have a case, and other software has its own."""
    assert made(tmp_path, {variable: "x"}).user == "ada"


@pytest.mark.parametrize("key", ["sources", "spool_home", "local_root", "Root", "", "AUDIT_USER"])
def test_only_fields_are_keys(tmp_path, key):
    """What a configuration works out, or another spelling of a key, cannot be set."""
    with pytest.raises(ConfigUnknownKey, match=f"argument: there is no {key!r}; the nearest is "):
        made(tmp_path, **{key: "x"})


@pytest.mark.parametrize(
    ("root", "where"),
    [
        ("a/b", "{}/a/b"),
        (Path("a"), "{}/a"),
        ("file:a", "{}/a"),
        ("/abs", "/abs"),
        ("file:/abs", "/abs"),
        ("file:///abs", "/abs"),
        ("/with space/é", "/with space/é"),
        ("s3a://bucket/a", "s3a://bucket/a"),
        ("hdfs://name/a/", "hdfs://name/a/"),
    ],
)
def test_a_local_root_is_made_absolute(tmp_path, root, where):
    """Every spelling of a local path is one path; a root elsewhere stays as it was written."""
    assert made(tmp_path, {"XDG_STATE_HOME": "/state"}, root=root).root == where.format(tmp_path)


def test_the_home_folder_is_found_behind_a_tilde(tmp_path, monkeypatch):
    """A shell does not expand a tilde in a file or after `=`, so the configuration does."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.toml").write_text('root = "~/r"\nspool_dir = "~/s"\n')
    found = made(Path("/"), {"AUDIT_CONFIG": "~/a.toml"})
    assert (found.root, found.spool_dir) == (f"{tmp_path}/r", f"{tmp_path}/s")


def test_the_file_of_a_root_is_read_wherever_the_root_was_named(tmp_path):
    """An argument or a variable names the root; a remote root has no file here."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / FILE_NAME).write_text("retention_days = 9\n")
    assert made(tmp_path, root="r").retention_days == 9
    assert made(tmp_path, root=f"file://{tmp_path}/r").retention_days == 9
    assert made(tmp_path, {"AUDIT_ROOT": "r"}).retention_days == 9
    assert made(tmp_path, {"AUDIT_ROOT": "elsewhere"}, root="r").retention_days == 9
    assert made(tmp_path, root="s3a://r").retention_days == 365


@pytest.mark.parametrize("data", [b"user = '\xff'", b"user", b"\x00", b"user = 'a'\nuser = 'b'\n"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, data):
    """Bytes that are no text, text that is no TOML, a key set twice."""
    (tmp_path / FILE_NAME).write_bytes(data)
    with pytest.raises(ConfigUnreadable, match="mend or remove that file") as refused:
        made(tmp_path, root=tmp_path)
    assert str(tmp_path / FILE_NAME) in refused.value.problem


def test_a_folder_in_the_place_of_the_named_file_is_told(tmp_path):
    """AUDIT_CONFIG must name a file."""
    with pytest.raises(ConfigUnreadable, match=str(tmp_path)):
        made(tmp_path, {"AUDIT_CONFIG": str(tmp_path)})


def test_administrators_are_the_user_unless_they_are_named(tmp_path):
    """The user of the first session administers; naming others takes it from that user."""
    assert made(tmp_path, user="eve").admins == "eve"
    assert made(tmp_path, {"AUDIT_USER": "bob"}).admins == "bob"
    assert made(tmp_path, user="eve", admins="ann,bob").admins == "ann,bob"


def test_the_operating_system_is_asked_only_where_nobody_names_the_user(tmp_path):
    """A container whose uid has no name works as soon as a user is set."""

    def nobody():
        raise KeyError("uid not found")

    assert load({"user": "ann"}, environ={}, directory=tmp_path, os_user=nobody).user == "ann"
    with pytest.raises(ConfigInvalid, match=r"does not name the user .*; set user or AUDIT_USER"):
        load({}, environ={}, directory=tmp_path, os_user=nobody)


def test_equal_values_from_other_sources_are_the_same_configuration(tmp_path):
    """Attaching twice with the same values is no conflict; what a field says of its source cannot change."""
    one, other = made(tmp_path, user="ann"), made(tmp_path, {"AUDIT_USER": "ann"})
    assert one == other
    assert one.sources["user"] != other.sources["user"]
    with pytest.raises(TypeError):
        one.sources["user"] = "x"
