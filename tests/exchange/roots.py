"""A root with a statement of each kind that an exchange tells apart, by delta-rs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_micros
from audit.policies.model.events import GovernanceEvent
from lineage.catalog.object_ids import column_id, object_id
from tests.query.roots import add_catalog, add_governance, make_root

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 11, 20, 12)  # noqa: DTZ001 - the tables' UTC, without a zone
DAYS = ("--from", "2026-11-20", "--to", "2026-11-20")
PEOPLE, REPORT, LATEST = "spark_catalog.p.people", "spark_catalog.p.report", "spark_catalog.p.latest"
CSV, LAKE = "file:/in/people.csv", "lake.sales.orders"
FOLDER = "file:/data/warehouse/people-1"
TAG = "spark_catalog.p.pii"
Row = dict[str, Any]


def query_id(number: int) -> str:
    """The id of a statement: a UUID of version 7."""
    return f"019aa0c0-0000-7000-8000-{number:012}"


def id_of(name: str) -> int:
    """The id of an object."""
    return object_id("TABLE", name)


def thing(name: str, *columns: str) -> Row:
    """An object as a record has it."""
    domain = "STAGE" if name.startswith(("file:", "s3a:")) else "VIEW" if name == LATEST else "Table"
    named = [{"columnId": column_id(id_of(name), one), "columnName": one} for one in columns]
    return {"objectDomain": domain, "objectId": id_of(name), "objectName": name, "columns": named}


class Root:
    """Rows of a root, as statements are told."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Row]] = {
            "query_history": [],
            "access_history": [],
            "table_lineage": [],
            "column_lineage": [],
        }

    def ran(
        self, kind: str, text: str, status: str = "SUCCESS", at: datetime | None = None, **more: Any
    ) -> str:
        """A statement; what begins with `_` goes into its record."""
        number = len(self.rows["query_history"])
        at = at or NOON + timedelta(minutes=number)
        own = {name: value for name, value in more.items() if not name.startswith("_")}
        ended = {} if status in ("RUNNING", "INCOMPLETE") else {"end_time": at + timedelta(seconds=5)}
        self.rows["query_history"].append(
            {
                "query_id": query_id(number),
                "start_time": at,
                "user_name": "ann",
                "query_type": kind,
                "query_text": text,
                "execution_status": status,
                "client_program": "etl.py",
                "client_version": "Python 3.11.7, PySpark 4.2.0",
                "query_parameterized_hash": f"{number:032}",
                "role_name": "ANALYST",
                "session_id": "s1",
                "action": "SparkSession.sql",
                **ended,
                **own,
            }
        )
        if status == "SUCCESS" and not kind.startswith("AUDIT_"):
            record = {name[1:]: value for name, value in more.items() if name.startswith("_")}
            self.rows["access_history"].append(
                {
                    "query_id": query_id(number),
                    "query_start_time": at,
                    "user_name": "ann",
                    "parent_query_id": own.get("parent_query_id"),
                    "root_query_id": own.get("root_query_id"),
                    "captured_by": "text",
                    "analysis": "full",
                    **record,
                }
            )
        return query_id(number)

    def flowed(
        self,
        source: tuple[str, str],
        target: tuple[str, str | None],
        how: str = "IDENTITY",
        *,
        kind: str = "direct",
        overwrites: bool = False,
    ) -> None:
        """An edge of the newest statement, in both tables."""
        query = self.rows["query_history"][-1]
        ends = {
            "query_id": query["query_id"],
            "query_start_time": query["start_time"],
            "user_name": "ann",
            "query_type": query["query_type"],
            "source_kind": kind,
            "is_indirect": how == "INDIRECT",
            **_end("source", source[0]),
            **_end("target", target[0]),
        }
        columns = {
            "source_column_id": column_id(id_of(source[0]), source[1]),
            "source_column_name": source[1],
            "target_column_id": target[1] and column_id(id_of(target[0]), target[1]),
            "target_column_name": target[1],
        }
        self.rows["column_lineage"].append({**ends, **columns, "transformation": how})
        row = {**ends, "overwrites": overwrites}
        if row not in self.rows["table_lineage"]:
            self.rows["table_lineage"].append(row)


def _end(end: str, name: str) -> Row:
    one = thing(name)
    return {
        f"{end}_object_id": one["objectId"],
        f"{end}_object_name": name,
        f"{end}_object_domain": one["objectDomain"],
    }


def masked(column: str, changed: bool | None) -> list[Row]:  # noqa: FBT001 - as the record has it
    """The policy that stood before a column of people."""
    policy = {
        "policyName": "spark_catalog.p.hide",
        "policyId": 70,
        "policyKind": "MASKING_POLICY",
        "policyVersion": "a" * 64,
        "changedResult": changed,
    }
    return [
        {
            **thing(PEOPLE),
            "policies": [],
            "columns": [
                {"columnId": column_id(id_of(PEOPLE), column), "columnName": column, "policies": [policy]}
            ],
        }
    ]


def told() -> Root:
    """The statements."""
    root = Root()
    ddl = {"objectDomain": "Table", "objectId": id_of(PEOPLE), "objectName": PEOPLE, "properties": "{}"}
    root.ran(
        "CREATE_TABLE",
        "CREATE TABLE p.people (name STRING, ssn STRING)",
        _object_modified_by_ddl={**ddl, "operationType": "CREATE"},
    )
    root.ran(
        "INSERT",
        "INSERT INTO p.people SELECT * FROM csv.`/in/people.csv`",
        rows_produced=3,
        bytes_written=900,
        bytes_scanned=100,
        query_tag="nightly",
        purpose="load",
        _direct_objects_accessed=[thing(CSV, "name", "ssn")],
        _objects_modified=[thing(PEOPLE, "name", "ssn")],
        _object_versions=[{"objectName": PEOPLE, "objectId": id_of(PEOPLE), "access": "write", "version": 1}],
    )
    root.flowed((CSV, "name"), (PEOPLE, "name"))
    root.flowed((CSV, "ssn"), (PEOPLE, "ssn"))
    read = [{"objectName": PEOPLE, "objectId": id_of(PEOPLE), "access": "read", "version": 1}]
    root.ran(
        "SELECT",
        "SELECT ssn FROM p.people",
        _direct_objects_accessed=[thing(PEOPLE, "ssn")],
        _object_versions=read,
        bytes_scanned=900,
    )
    root.ran(
        "REPLACE_TABLE_AS_SELECT",
        "CREATE OR REPLACE TABLE p.report AS SELECT …",
        rows_produced=2,
        _direct_objects_accessed=[thing(PEOPLE, "name", "ssn"), thing(LAKE, "total")],
        _objects_modified=[thing(REPORT, "name", "ssn", "total")],
        _policies_referenced=masked("ssn", None),
    )
    root.flowed((PEOPLE, "name"), (REPORT, "name"), overwrites=True)
    root.flowed((PEOPLE, "ssn"), (REPORT, "ssn"), "TRANSFORMATION", overwrites=True)
    root.flowed((LAKE, "total"), (REPORT, "total"), "AGGREGATION", overwrites=True)
    root.flowed((PEOPLE, "name"), (REPORT, "total"), "INDIRECT", overwrites=True)
    root.flowed((PEOPLE, "ssn"), (REPORT, None), "INDIRECT", overwrites=True)
    view = {"objectDomain": "VIEW", "objectId": id_of(LATEST), "objectName": LATEST, "properties": "{}"}
    root.ran(
        "CREATE_VIEW",
        "CREATE VIEW p.latest AS SELECT name FROM p.report",
        _object_modified_by_ddl={**view, "operationType": "CREATE"},
    )
    root.flowed((REPORT, "name"), (LATEST, "name"), overwrites=True)
    root.ran(
        "SELECT",
        "SELECT ssn FROM p.people",
        "DENIED",
        error_code="AUDIT_STATEMENT_DENIED",
        error_message="ann may not read p.people",
    )
    root.ran("SELECT", "SELECT 1 / 0", "FAIL", error_code="DIVIDE_BY_ZERO", error_message="Division by zero")
    parent = root.ran(
        "CALL", "etl.nightly()", action="etl.nightly", query_parameterized_hash=None, query_hash=None
    )
    root.ran(
        "DELETE",
        "DELETE FROM p.report",
        parent_query_id=parent,
        root_query_id=parent,
        _objects_modified=[thing(REPORT)],
    )
    root.ran("SELECT", "SELECT forever()", "INCOMPLETE")
    root.ran("SELECT", "SELECT now()", "RUNNING")
    root.ran(
        "STREAM_BATCH",
        "toTable(p.report)",
        query_parameterized_hash=None,
        query_hash="b" * 32,
        action="DataStreamWriter.toTable",
        _captured_by="plan",
        _analysis="partial",
        _analysis_reason="a function over rows",
        _objects_modified=[thing(REPORT)],
    )
    root.ran("DROP_TABLE", "DROP TABLE p.people", _object_modified_by_ddl={**ddl, "operationType": "DROP"})
    root.ran("AUDIT_QUERY", "{}", action="audit query")
    root.ran("GAP", "{}", "INCOMPLETE")
    return root


def exchange_root(folder: Path) -> str:
    """The statements in tables; people was measured, and its ssn has a tag from the second statement on."""
    made = make_root(folder, told().rows)
    relation = (
        "spark_catalog.p.people",
        "p",
        "Table",
        id_of(PEOPLE),
        "spark_catalog",
        "people",
        "EXTERNAL",
        "delta",
        "STEWARD",
        "Who they are",
        NOON,
        None,
        FOLDER,
        None,
    )
    add_catalog(
        made,
        [
            ("RELATION", relation, None, None, None, NOON),
            *(
                (
                    "ATTRIBUTE",
                    None,
                    (
                        column_id(id_of(PEOPLE), name),
                        name,
                        id_of(PEOPLE),
                        "people",
                        "p",
                        "spark_catalog",
                        number,
                        None,
                        "YES",
                        "string",
                        None,
                        None,
                        comment,
                    ),
                    None,
                    None,
                    NOON,
                )
                for number, (name, comment) in enumerate(
                    (("name", None), ("ssn", "Social security number")), 1
                )
            ),
        ],
    )
    use = {
        "object_domain": "Table",
        "object_id": id_of(PEOPLE),
        "value": "high",
        "column": "ssn",
        "columns": [["ssn", "ssn", column_id(id_of(PEOPLE), "ssn"), "STRING"]],
    }
    since = to_micros((NOON + timedelta(seconds=30)).replace(tzinfo=timezone.utc))
    add_governance(
        made,
        [
            GovernanceEvent(since, "CREATE_TAG", "e", name=TAG, details={"allowed": None, "comment": None}),
            GovernanceEvent(since, "SET_TAG", "f", "e", f"delta:{PEOPLE}", PEOPLE, details=use),
        ],
    )
    return made
