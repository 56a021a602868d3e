"""External tables that are not Delta's are tables: no view that lists tables leaves them out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from audit.query.tables import opened
from tests.exchange.roots import Root, thing
from tests.query.roots import make_root

FILES, COPY = "spark_catalog.p.files", "spark_catalog.p.copy"
VIEWS = Path(__file__).parents[2] / "views" / "sql"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A root where one external table was read, and written into another one."""
    root = Root()
    read, written = ({**thing(name, "a"), "objectDomain": "EXTERNAL TABLE"} for name in (FILES, COPY))
    root.ran("INSERT", "…", _direct_objects_accessed=[read], _objects_modified=[written])
    root.flowed((FILES, "a"), (COPY, "a"))
    for table in ("table_lineage", "column_lineage"):
        for row in root.rows[table]:
            row |= {"source_object_domain": "EXTERNAL TABLE", "target_object_domain": "EXTERNAL TABLE"}
    with opened(make_root(tmp_path_factory.mktemp("external"), root.rows)) as found:
        yield found


@pytest.mark.parametrize(("view", "column", "names"), [
    ("system_access_table_lineage", "concat(source_type, ' ', source_table_full_name)", {f"TABLE {FILES}"}),
    ("system_access_table_lineage", "concat(target_type, ' ', target_table_full_name)", {f"TABLE {COPY}"}),
    ("system_access_column_lineage", "concat(source_type, ' ', source_table_full_name)", {f"TABLE {FILES}"}),
    ("system_access_audit", "request_params['full_name_arg']", {FILES, COPY}),
    ("information_schema_jobs", "destination_table.table_id", {"copy"}),
    ("information_schema_jobs", "referenced_tables[0].table_id", {"files"}),
])  # fmt: skip
def test_views_of_other_systems_list_them(tables, view, column, names):
    """As their own external tables."""
    rows = tables.arrow(f"SELECT {column} AS name FROM account_usage.{view}").to_pylist()
    assert {row["name"] for row in rows} - {None} == names


def test_a_view_that_chooses_tables_chooses_these():
    """Wherever a view compares a domain with 'Table'."""
    chosen = re.compile(
        r"(?:= 'Table'|IN \('Table'|array\('Table'|WHEN 'Table')(?!(?: THEN 'Table' WHEN|,) 'EXTERNAL TABLE')"
    )
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted(VIEWS.glob("*.sql"))
        for line in path.read_text("utf-8").splitlines()
        if not line.startswith("--") and chosen.search(line)
    ]
    assert found == []
