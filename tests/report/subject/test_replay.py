"""What the replay says of statements: never more than the files and the text show."""

from __future__ import annotations

import base64
import json
import shutil
import struct
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from audit.query.tables import opened
from audit.report.errors import SubjectKeyInvalid, SubjectTableInvalid
from audit.report.kinds.subject import COULD_NOT, MAY_HAVE_READ, READ
from audit.report.subject.about import subject_about
from audit.report.subject.key import key_of
from tests.report.roots import MONTH

from .people import ADA, BOTH, GONE, MAX, NAME, NOT_YET, SCHEMA, Record, make_people

SAID = {READ.name: "read", MAY_HAVE_READ.name: "may", COULD_NOT.name: "not"}


@pytest.fixture
def record(tmp_path):
    """The table, and nothing read yet."""
    return Record(make_people(tmp_path / "clients"))


def answers(record, folder, key="name = 'Ada'", named=(NAME,)):
    """By statement: what the replay says, and why."""
    with opened(record.root(folder / "root")) as tables:
        about = subject_about(tables, key, list(named), MONTH)
    found = {}
    for figure, said in SAID.items():
        for row in about.rows[figure].rows:
            one = dict(zip(about.rows[figure].columns, row, strict=True))
            found[one["query_id"]] = (said, one["reason"])
    return found


FROM = "FROM p.clients"
STATEMENTS = [
    # The version decides.
    (f"SELECT * {FROM}", BOTH, "read", "it has no condition"),
    (f"SELECT * {FROM}", NOT_YET, "not", "has no such row"),
    (f"SELECT * {FROM}", GONE, "not", "has no such row"),
    (f"SELECT * {FROM}", None, "may", "no record says which version"),
    (f"SELECT * {FROM}", 99, "may", "no longer kept"),
    ("DataFrame.collect()\nRelation", BOTH, "may", "not known as SQL"),
    ("DataFrame.collect()\nRelation", NOT_YET, "not", "has no such row"),
    # What reads changes reads many versions.
    ("DataFrame.collect()", NOT_YET, "may", "others, too"),
    ("DataFrame.collect()\nRelation [_change_type#1] DeltaCDFRelation", NOT_YET, "may", "others, too"),
    ("SELECT * FROM table_changes('p.clients', 0)", NOT_YET, "may", "others, too"),
    ("MERGE INTO p.x USING p.clients c ON c.id = x.id WHEN MATCHED THEN DELETE", BOTH, "may", "MERGE"),
    ("MERGE INTO p.x USING p.clients c ON c.id = x.id WHEN MATCHED THEN DELETE", GONE, "not", "no such"),
    # The condition decides.
    (f"SELECT count(*) {FROM} WHERE born < 1850", BOTH, "read", "lets it through"),
    (f"SELECT name {FROM} WHERE born > 1850", BOTH, "not", "its own condition"),
    (f"SELECT name {FROM} c WHERE c.born BETWEEN 1815 AND 1816 AND NOT c.ok = false", BOTH, "read", "lets"),
    (f"SELECT name {FROM} WHERE country IN ('DE', 'FR') OR born <=> 1900", BOTH, "not", "its own"),
    (f"SELECT name {FROM} WHERE seen = '2026-11-01' AND ok", BOTH, "read", "lets"),
    (f"SELECT name {FROM} WHERE seen > DATE'2026-11-01'", BOTH, "not", "its own"),
    (f"SELECT name {FROM} WHERE name = 'it\\'s' OR name = 'a\\\\b'", BOTH, "not", "its own"),
    (f"SELECT name {FROM} WHERE NAME = 'Ada' AND country IS NOT NULL", BOTH, "read", "lets"),
    ("UPDATE p.clients SET ok = true WHERE id = 8", BOTH, "not", "its own"),
    ("DELETE FROM p.clients WHERE id = 7", BOTH, "read", "lets"),
    (f"INSERT INTO p.copy SELECT * {FROM} WHERE id = 8", BOTH, "not", "its own"),
    (f"CREATE TABLE p.copy AS SELECT * {FROM}", BOTH, "read", "no condition"),
    # One part of a condition is enough to leave a row out, and not enough to let it through.
    (f"SELECT name {FROM} WHERE upper(name) = 'ADA' AND born > 1850", BOTH, "not", "its own"),
    (f"SELECT name {FROM} WHERE upper(name) = 'ADA' AND born < 1850", BOTH, "may", "more than comparisons"),
    (f"SELECT name {FROM} WHERE upper(name) = 'MAX'", BOTH, "may", "more than comparisons"),
    # What Spark and DuckDB compare in different ways is not compared.
    (f"SELECT name {FROM} WHERE name = 7", BOTH, "may", "more than comparisons"),
    (f"SELECT name {FROM} WHERE born = '1900'", BOTH, "may", "more than comparisons"),
    (f"SELECT name {FROM} WHERE seen = '2026-1-2'", BOTH, "may", "more than comparisons"),
    (f"SELECT name {FROM} WHERE name LIKE 'M%'", BOTH, "may", "more than comparisons"),
    (f"SELECT name {FROM} WHERE born > :year", BOTH, "may", "more than comparisons"),
    (f"SELECT name {FROM} WHERE born > (SELECT max(born) {FROM})", BOTH, "may", "more than once"),
    # What stands beside the condition.
    (f"SELECT name {FROM} LIMIT 1", BOTH, "may", "LIMIT"),
    (f"SELECT name {FROM} WHERE born > 1850 LIMIT 1", BOTH, "not", "its own"),
    (f"SELECT country {FROM} GROUP BY country HAVING count(*) > 1", BOTH, "may", "HAVING"),
    (f"SELECT name {FROM} TABLESAMPLE (10 PERCENT)", BOTH, "may", "sample"),
    (f"SELECT explode(array(name)) {FROM}", BOTH, "may", "explodes"),
    (f"WITH c AS (SELECT * {FROM} WHERE born > 1850) SELECT * FROM c", BOTH, "not", "its own"),
    (f"WITH c AS (SELECT * {FROM}) SELECT * FROM c WHERE born > 1850", BOTH, "may", "several queries"),
    (f"SELECT name {FROM} WHERE id = 8 UNION ALL SELECT name {FROM} WHERE id = 9", BOTH, "not", "its own"),
    (f"SELECT name {FROM} WHERE id = 8 UNION ALL SELECT name {FROM}", BOTH, "may", "more than once"),
    (f"SELECT a.name {FROM} a JOIN p.clients b ON a.id = b.id WHERE a.id = 8", BOTH, "may", "more than once"),
    ("WITH clients AS (SELECT 1 AS id) SELECT * FROM clients", BOTH, "may", "has the name of the table"),
    ("SELECT * FROM p.clients JOIN p.other USING (id)", BOTH, "may", "nothing on record"),
    ("SELECT * FROM delta.`/data/clients` WHERE id = 8", BOTH, "may", "by a path"),
    ("SELECT * FROM IDENTIFIER('p.clients') WHERE id = 8", BOTH, "may", ""),
    ("SELECT 1", BOTH, "may", "does not name the table"),
    (f"SELECT name {FROM} WHERE s.born > 1850", BOTH, "may", "more than comparisons"),
]  # fmt: skip


def test_statements(record, tmp_path):
    """Text by text, over the version that each has read."""
    ids = {record.read(text, version): (said, why) for text, version, said, why in STATEMENTS}
    found = answers(record, tmp_path)
    texts = dict(
        zip(ids, (f"{text} of version {version}" for text, version, _, _ in STATEMENTS), strict=True)
    )
    wrong = [
        f"{texts[one]}: {found[one]}, expected {said}, {why}"
        for one, (said, why) in ids.items()
        if found[one][0] != said or why not in found[one][1]
    ]
    assert not wrong, "\n".join(wrong)


def test_what_stands_between(record, tmp_path):
    """A view, a policy over rows, a masked column in a condition: nobody knows; masks alone hide no row."""
    text = "SELECT name FROM p.clients WHERE born > 1850"
    mask = {"name": "c.p.mask", "column": "born"}
    rows = {"name": "c.p.rows"}
    cases = {
        record.read("SELECT * FROM p.adults WHERE born > 1850", view=True): ("may", "a view"),
        record.read("SELECT * FROM p.adults", NOT_YET, view=True): ("not", "no such row"),
        record.read(text, policies=[{**mask, "changed": True}]): ("may", "was masked"),
        record.read(text, policies=[{**mask, "changed": False}]): ("not", "its own condition"),
        record.read("SELECT name FROM p.clients", policies=[{**mask, "changed": True}]): ("read", ""),
        record.read("SELECT name FROM p.clients", policies=[{**rows, "changed": None}]): ("may", "c.p.rows"),
        record.read("SELECT name FROM p.clients", policies=[{**rows, "changed": False}]): ("read", ""),
        record.read(text, policies=[{**rows, "changed": True}]): ("not", "its own condition"),
        # A policy of another table may read this one.
        record.read(text, policies=[{**rows, "changed": True, "of": 4}]): ("may", "policy"),
        # The values of a redacted text are not those of the statement.
        record.read("SELECT name FROM p.clients WHERE born > 0", query_hash="of the true text"): (
            "may",
            "without its values",
        ),
    }
    found = answers(record, tmp_path)
    wrong = {
        one: (found[one], expected)
        for one, expected in cases.items()
        if found[one][0] != expected[0] or expected[1] not in found[one][1]
    }
    assert not wrong


def test_a_stream_and_an_unknown_view(record, tmp_path):
    """They may have read more versions than the record has."""
    query_id = record.read("DataFrame.writeStream\nRelation", NOT_YET)
    record.story.rows["query_history"][-1]["query_type"] = "STREAM_BATCH"
    record.known_place = False
    view = record.read("SELECT * FROM p.adults", NOT_YET, view=True)
    found = answers(record, tmp_path, named=[f"{NAME}={record.folder}"])
    assert (
        found[query_id] == found[view] == ("may", "the version has no such row; it may have read others, too")
    )


def test_a_view_of_changes(record, tmp_path):
    """Where there is one, no view is known to read one version alone."""
    view = record.read("SELECT * FROM p.adults", NOT_YET, view=True)
    record.view_text = "SELECT * FROM table_changes('p.clients', 0)"
    assert answers(record, tmp_path)[view][0] == "may"


def test_a_version_that_was_vacuumed(record, tmp_path):
    """Without the file that Ada was in nobody knows; a file that is there still shows who is in it."""
    first = record.read("SELECT * FROM p.clients WHERE id = 7")
    DeltaTable(record.folder).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert answers(record, tmp_path)[first] == ("may", "the version is no longer kept as a whole")
    found = answers(record, tmp_path / "2", key="name = 'Max'")
    assert found[first] == ("may", "the version is no longer kept as a whole")
    second = record.read("SELECT * FROM p.clients")
    assert answers(record, tmp_path / "3", key="id = 8")[second][0] == "read"


def test_another_table_in_the_folder(record, tmp_path):
    """A table that was dropped and made anew under the same path is another one."""
    query_id = record.read("SELECT * FROM p.clients")
    root = record.root(tmp_path / "root")
    shutil.rmtree(record.folder)
    make_people(Path(record.folder))
    with opened(root) as tables:
        [row] = subject_about(tables, "name = 'Ada'", [NAME], MONTH).rows[MAY_HAVE_READ.name].rows
    assert (row[-1], row[-2]) == (query_id, "another table lies in the folder by now")


def test_where_the_files_lie(record, tmp_path):
    """As measured, or as told; else nobody knows."""
    record.known_place = False
    query_id = record.read("SELECT * FROM p.clients")
    assert answers(record, tmp_path)[query_id][1].startswith("no record says where")
    assert answers(record, tmp_path / "2", named=[f"{NAME}={record.folder}"])[query_id][0] == "read"
    with pytest.raises(SubjectTableInvalid, match="holds no Delta table"):
        answers(record, tmp_path / "3", named=[f"{NAME}={tmp_path}"])


def test_a_partitioned_table(tmp_path):
    """The values of partitions are in no file; conditions on them count all the same."""
    record = Record(make_people(tmp_path / "a b", partition_by=["country"]))
    cases = {
        record.read("SELECT * FROM p.clients WHERE country = 'GB'"): "read",
        record.read("SELECT * FROM p.clients WHERE country = 'DE'"): "not",
    }
    assert {one: said for one, (said, _) in answers(record, tmp_path).items()} == cases
    found = answers(record, tmp_path / "2", key="country = 'GB'")
    assert {why for _, why in found.values()} == {"the table is partitioned by country, which is in no file"}


def test_a_column_that_came_later(tmp_path):
    """Older files do not have it: its value there is NULL."""
    folder = str(tmp_path / "clients")
    old = pa.Table.from_pylist([ADA], SCHEMA).drop_columns(["country"])
    write_deltalake(folder, old)
    write_deltalake(folder, pa.Table.from_pylist([MAX], SCHEMA), mode="append", schema_mode="merge")
    record = Record(folder)
    cases = {
        record.read("SELECT * FROM p.clients WHERE country = 'GB'"): "not",
        record.read("SELECT * FROM p.clients WHERE country IS NULL"): "read",
    }
    assert {one: said for one, (said, _) in answers(record, tmp_path).items()} == cases


def test_a_row_that_a_deletion_vector_deletes(tmp_path):
    """It is in the file, and not in the version."""
    folder = tmp_path / "clients"
    write_deltalake(str(folder), pa.Table.from_pylist([MAX, ADA], SCHEMA))
    delete_in_place(folder, row=1)
    record = Record(str(folder))
    cases = {
        record.read("SELECT * FROM p.clients", 0): "read",
        record.read("SELECT * FROM p.clients", 1): "not",
    }
    assert {one: said for one, (said, _) in answers(record, tmp_path).items()} == cases
    found = answers(record, tmp_path / "2", key="id = 8")
    assert {said for said, _ in found.values()} == {"read"}


def delete_in_place(folder, row):
    """A commit that deletes one row of the one file, as Delta's protocol says ("Deletion Vectors")."""
    log = folder / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    [add] = [one["add"] for one in actions if "add" in one]
    # A RoaringBitmapArray: its magic number, one bitmap under the key 0; in it one container of one value.
    bitmap = struct.pack("<IIHHIH", 12346, 1, 0, 0, 16, row)
    data = struct.pack("<iqi", 1681511377, 1, 0) + bitmap
    data += bytes(-len(data) % 4)
    vector = {"storageType": "i", "pathOrInlineDv": z85(data), "sizeInBytes": len(data), "cardinality": 1}
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    commit = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}},
        {"add": {**add, "deletionVector": vector}},
    ]
    (log.parent / f"{1:020}.json").write_text("".join(json.dumps(one) + "\n" for one in commit))


def z85(data):
    """Bytes in the form of ZeroMQ's RFC 32, which is base 85 with other letters."""
    plain = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    wanted = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    return base64.b85encode(data).decode().translate(str.maketrans(plain, wanted))


def test_a_mapped_column(tmp_path):
    """A table that maps its columns has other names in its files."""
    folder = tmp_path / "clients"
    write_deltalake(str(folder), pa.Table.from_pylist([MAX, ADA], SCHEMA).rename_columns([
        "c1", "c2", "c3", "c4", "c5", "c6",
    ]))  # fmt: skip
    log = folder / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for one in actions:
        if "metaData" in one:
            schema = json.loads(one["metaData"]["schemaString"])
            for number, (column, name) in enumerate(zip(schema["fields"], SCHEMA.names, strict=True), 1):
                column["metadata"] = {
                    "delta.columnMapping.id": number, "delta.columnMapping.physicalName": column["name"],
                }  # fmt: skip
                column["name"] = name
            one["metaData"]["schemaString"] = json.dumps(schema)
            one["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
        if "protocol" in one:
            one["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
    log.write_text("".join(json.dumps(one) + "\n" for one in actions))
    record = Record(str(folder))
    cases = {
        record.read("SELECT * FROM p.clients WHERE country = 'GB'", 0): "read",
        record.read("SELECT * FROM p.clients WHERE country = 'DE'", 0): "not",
    }
    assert {one: said for one, (said, _) in answers(record, tmp_path).items()} == cases


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("name", "not one comparison by ="),
        ("name = ", "no comparison"),
        ("name = 'x' OR 1 = 1", "not one comparison by ="),
        ("name = (SELECT 1)", "neither a number nor"),
        ("name = upper('x')", "neither a number nor"),
        ("name > 'x'", "not one comparison by ="),
        ("c.name = 'x'", "left side"),
        ("7 = id", "left side"),
        ("id = 7; DROP TABLE t", "comparison"),
        ("name = 'O''Brien'", "a quote in a text is"),
        ("id = :x", "neither a number nor"),
        ("SELECT 1", "not one comparison by ="),
    ],
)
def test_a_key_that_is_none(key, said):
    """Nothing but a column, = and a literal is taken."""
    with pytest.raises(SubjectKeyInvalid, match=said):
        key_of(key)


def test_a_key_of_another_type(record, tmp_path):
    """The message does not repeat the value."""
    record.read("SELECT * FROM p.clients")
    keys = {"id = '7'": "is a long", "name = 4711": "is a string", "seen = 'soon'": "is a date"}
    for number, (key, said) in enumerate(keys.items()):
        with pytest.raises(SubjectKeyInvalid, match=said) as caught:
            answers(record, tmp_path / str(number), key=key)
        assert not {"soon", "4711"} & set(str(caught.value).split())


def test_a_table_that_is_none(record, tmp_path):
    """A view holds no rows; a table without the column cannot have the key."""
    record.read("SELECT * FROM p.adults", view=True)
    with pytest.raises(SubjectTableInvalid, match="is a VIEW"):
        answers(record, tmp_path, named=["p.adults"])
    with pytest.raises(SubjectTableInvalid, match="has no column email"):
        answers(record, tmp_path / "2", key="email = 'x'")
