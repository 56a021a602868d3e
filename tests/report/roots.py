"""A root with a month of three people's work, by delta-rs; one of them has a hostile name."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from audit.report.period import Period
from tests.query.roots import add_storage, make_root

if TYPE_CHECKING:
    from pathlib import Path

MONTH = Period(date(2026, 11, 1), date(2026, 11, 30))
DAYS = ("--from", "2026-11-01", "--to", "2026-11-30")
# HTML, a formula, a mark that turns the direction of reading.
HOSTILE = "=1+1<script>alert(1)</script>\u202egpj.exe"
PEOPLE, REPORT, CSV, OUT = (
    "spark_catalog.p.people",
    "spark_catalog.p.report",
    "file:/in/people.csv",
    "file:/out/people",
)
_IDS = {PEOPLE: 7, REPORT: 8, CSV: 9, OUT: 10}
_POLICY = {
    "policyName": "spark_catalog.p.hide", "policyId": 70, "policyKind": "MASKING_POLICY",
    "policyVersion": "a" * 64,
}  # fmt: skip
Row = dict[str, Any]


def moment(day: int, hour: int = 12) -> datetime:
    """A time of the month."""
    return datetime(2026, 11, 1, hour) + timedelta(days=day - 1)  # noqa: DTZ001 - the tables' UTC, without a zone


def thing(name: str, *columns: str) -> Row:
    """An object as a record has it."""
    return {
        "objectDomain": "STAGE" if name.startswith("file:") else "Table",
        "objectId": _IDS[name],
        "objectName": name,
        "columns": [{"columnId": n, "columnName": one} for n, one in enumerate(columns)],
    }


def target(name: str, /, **sources: tuple[str, str]) -> Row:
    """An object that was written, with the source of each column."""
    return {
        **{key: value for key, value in thing(name).items() if key != "columns"},
        "columns": [
            {
                "columnId": n,
                "columnName": column,
                "directSources": [
                    {
                        "columnName": of,
                        "objectDomain": "Table",
                        "objectId": _IDS[source],
                        "objectName": source,
                    }
                ],
            }
            for n, (column, (source, of)) in enumerate(sources.items())
        ],
    }


def written(name: str, version: int) -> Row:
    """The version that a statement wrote."""
    return {"objectName": name, "objectId": _IDS[name], "access": "write", "version": version}


def protected(changed: bool | None) -> list[Row]:  # noqa: FBT001 - as the record has it
    """The policy that stood before people.ssn."""
    policies = [{**_POLICY, "changedResult": changed}]
    column = {"columnId": 1, "columnName": "ssn", "policies": policies}
    return [
        {"objectDomain": "Table", "objectId": 7, "objectName": PEOPLE, "columns": [column], "policies": []}
    ]


def ddl(operation: str, domain: str, name: str, /, **properties: Any) -> Row:
    """What a DDL statement did."""
    return {
        "objectDomain": domain,
        "objectId": _IDS.get(name, 99),
        "objectName": name,
        "operationType": operation,
        "properties": json.dumps(properties),
    }


class Story:
    """Rows of a root, as they are told."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Row]] = {
            "query_history": [], "access_history": [], "table_lineage": [], "column_lineage": [],
        }  # fmt: skip

    def ran(
        self, at: datetime, user: str, kind: str, text: str, status: str = "SUCCESS", **more: Any
    ) -> None:
        """A statement; what begins with `_` goes into its record."""
        query_id = f"q{len(self.rows['query_history']):06}"
        query = {name: value for name, value in more.items() if not name.startswith("_")}
        self.rows["query_history"].append(
            {
                "query_id": query_id, "start_time": at, "user_name": user, "query_type": kind,
                "query_text": text, "execution_status": status, "client_host": "host-1",
                "client_program": "job.py", "os_user": "svc", **query,
            }
        )  # fmt: skip
        if status != "SUCCESS":
            return
        record = {name[1:]: value for name, value in more.items() if name.startswith("_")}
        self.rows["access_history"].append(
            {
                "query_id": query_id, "query_start_time": at, "user_name": user, "captured_by": "text",
                "analysis": "full", **record,
            }
        )  # fmt: skip

    def read(self, at: datetime, user: str, text: str, of: Row, **more: Any) -> None:
        """A SELECT."""
        self.ran(at, user, "SELECT", text, _direct_objects_accessed=[of], _base_objects_accessed=[of], **more)

    def happened(self, at: datetime, kind: str, **details: Any) -> None:
        """An event of the logging."""
        number = len(self.rows["query_history"])
        self.rows["query_history"].append(
            {
                "query_id": f"q{number:06}", "start_time": at, "user_name": "ann", "query_type": kind,
                "query_text": json.dumps(details), "execution_status": "SUCCESS", "action": "audit",
                "os_user": "svc",
            }
        )  # fmt: skip

    def flowed(self, at: datetime, source: str, to: str, *, column: str = "ssn") -> None:
        """An edge of lineage."""
        ends = {
            "query_id": "q", "query_start_time": at, "user_name": "ann", "query_type": "INSERT",
            "source_kind": "direct", "source_object_id": _IDS[source], "source_object_name": source,
            "source_object_domain": thing(source)["objectDomain"], "target_object_id": _IDS[to],
            "target_object_name": to, "target_object_domain": thing(to)["objectDomain"], "is_indirect": False,
        }  # fmt: skip
        self.rows["table_lineage"].append({**ends, "overwrites": False})
        named = {"source_column_name": column, "target_column_name": column, "transformation": "IDENTITY"}
        self.rows["column_lineage"].append({**ends, **named})


def told() -> Story:
    """The month."""
    story = Story()
    settings = {
        "admins": "ann",
        "enforce_privileges": True,
        "on_record_failure": "block",
        "retention_days": 365,
    }
    story.happened(moment(1), "AUDIT_ATTACH", **settings)
    story.ran(moment(2, 8), "ann", "CREATE_TABLE", "CREATE TABLE p.people (name STRING, ssn STRING)",
              _object_modified_by_ddl=ddl("CREATE", "Table", PEOPLE))  # fmt: skip
    loaded = target(PEOPLE, name=(CSV, "name"), ssn=(CSV, "ssn"))
    story.ran(moment(2, 9), "ann", "INSERT", "INSERT INTO p.people …", rows_produced=3,
              _objects_modified=[loaded], _base_objects_accessed=[thing(CSV)],
              _direct_objects_accessed=[thing(CSV)],
              _object_versions=[written(PEOPLE, 1)])  # fmt: skip
    story.flowed(moment(2, 9), CSV, PEOPLE)
    story.read(moment(3, 10), "bob", "SELECT ssn FROM p.people", thing(PEOPLE, "ssn"))
    story.ran(moment(4), "ann", "CREATE_MASKING_POLICY", "CREATE MASKING POLICY p.hide …",
              _object_modified_by_ddl=ddl("CREATE", "MASKING POLICY", "spark_catalog.p.hide"))  # fmt: skip
    story.read(moment(5, 12), "bob", "SELECT ssn FROM p.people", thing(PEOPLE, "ssn"),
               _policies_referenced=protected(changed=True))  # fmt: skip
    story.read(moment(5, 13), "ann", "SELECT ssn FROM p.people -- mine", thing(PEOPLE, "ssn"),
               purpose="case 4711 of bob", role_name="DPO",
               _policies_referenced=protected(changed=False))  # fmt: skip
    story.ran(moment(6), "ann", "CREATE_TABLE_AS_SELECT", "CREATE TABLE p.report AS SELECT ssn FROM p.people",
              rows_produced=3, _objects_modified=[target(REPORT, ssn=(PEOPLE, "ssn"))],
              _base_objects_accessed=[thing(PEOPLE, "ssn")], _direct_objects_accessed=[thing(PEOPLE, "ssn")],
              _object_modified_by_ddl=ddl("CREATE", "Table", REPORT),
              _policies_referenced=protected(changed=False))  # fmt: skip
    story.flowed(moment(6), PEOPLE, REPORT)
    story.read(moment(7, 23), HOSTILE, f"SELECT '{HOSTILE}' AS \"</pre>\"", thing(PEOPLE, "name"))
    story.ran(
        moment(8),
        "bob",
        "SELECT",
        "SELECT * FROM p.report",
        "DENIED",
        error_code="DENIED",
        objects_tried=[REPORT],
    )
    story.ran(
        moment(8), "bob", "UPDATE", "UPDATE p.reprot SET a = 1", "FAIL", error_code="TABLE_OR_VIEW_NOT_FOUND"
    )
    grant = {"privileges": {"value": "SELECT"}, "to": {"value": "USER"}, "grantee": {"value": "bob"}}
    story.ran(moment(9), "ann", "GRANT", "GRANT SELECT ON TABLE p.people TO USER bob",
              _object_modified_by_ddl=ddl("ALTER", "Table", PEOPLE, **grant))  # fmt: skip
    story.ran(moment(10), "ann", "UNLOAD", "COPY INTO '/out/people' FROM p.people",
              _objects_modified=[target(OUT, ssn=(PEOPLE, "ssn"))],
              _base_objects_accessed=[thing(PEOPLE, "ssn")],
              _direct_objects_accessed=[thing(PEOPLE, "ssn")])  # fmt: skip
    story.flowed(moment(10), PEOPLE, OUT)
    story.ran(moment(11), "bob", "SELECT", "SELECT forever()", "INCOMPLETE")
    story.ran(
        moment(12),
        "bob",
        "SELECT",
        "SELECT my_rdd",
        _analysis="partial",
        _analysis_reason="a function over rows",
    )
    story.ran(
        moment(12),
        "bob",
        "CALL",
        "CALL it",
        _analysis="opaque",
        _analysis_reason="no text",
        _captured_by="plan",
    )
    story.ran(
        moment(13),
        "ann",
        "DELETE",
        "DELETE FROM p.report",
        rows_produced=2,
        _objects_modified=[target(REPORT)],
    )
    story.happened(moment(14), "AUDIT_SUPPRESS")
    story.happened(moment(14, 13), "AUDIT_RESUME")
    lost = {"gap": "refused", "until": "2026-11-15T12:30:00.000000Z"}
    story.ran(moment(15), "audit", "GAP", json.dumps(lost), "INCOMPLETE",
              error_message="2 statements may have run without a record")  # fmt: skip
    old = {"table": "query_history", "days_kept": 365, "oldest_kept": "2025-11-20", "rows": 40}
    story.happened(moment(20), "AUDIT_RETAIN", deleted=[{**old, "days": ["2025-11-18", "2025-11-19"]}])
    checked = {"records": 14, "statements": 19, "faults": 0}
    story.happened(moment(21), "AUDIT_QUERY", query="who_read_column", parameters={"days": 7})
    story.happened(moment(22), "AUDIT_QUERY", sql="SELECT 1", parameters={})
    story.happened(moment(23), "AUDIT_REPORT", report="subject", about=None, tables=["p.people"])
    story.happened(moment(31), "AUDIT_VERIFY", since="2026-11-01", until="2026-11-30", **checked)
    return story


def story_root(folder: Path) -> str:
    """The month, in tables; storage as it was measured at its end."""
    made = make_root(folder, told().rows)
    add_storage(made, [_stored(PEOPLE, 40, 10, 5, 0, 0), _stored(REPORT, 8, 0, 0, 4, 2)])
    return made


def _stored(name: str, *mebibytes: int) -> Row:
    """A table with the bytes of its states."""
    states = ("active", "time_travel", "fail_safe", "retained_for_clone", "purgeable")
    catalog, schema, table = name.split(".")
    return {
        "table_id": _IDS[name], "table_catalog": catalog, "table_schema": schema, "table_name": table,
        "table_type": "BASE TABLE", "is_transient": False, "retention_time": 1.0, "created": moment(1),
        **{f"{state}_bytes": size << 20 for state, size in zip(states, mebibytes, strict=True)},
    }  # fmt: skip
