"""A Delta table with a person in it, by delta-rs, and statements that have read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from audit.store.measured.catalog_columns import COLUMNS
from lineage.catalog.object_ids import object_id
from lineage.sql.fingerprint import text_hash
from tests.query.roots import add_catalog, make_root
from tests.report.roots import MONTH, Story, moment

if TYPE_CHECKING:
    from pathlib import Path

NAME = "spark_catalog.p.clients"
VIEW = "spark_catalog.p.adults"
DAYS = ("--from", str(MONTH.first), "--to", str(MONTH.last))
ADA = {"id": 7, "name": "Ada", "born": 1815, "seen": date(2026, 11, 1), "ok": True, "country": "GB"}
MAX = {"id": 8, "name": "Max", "born": 1858, "seen": date(2026, 11, 2), "ok": False, "country": "DE"}
SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("name", pa.string()), ("born", pa.int32()), ("seen", pa.date32()),
        ("ok", pa.bool_()), ("country", pa.string()),
    ]
)  # fmt: skip
NOT_YET, BOTH, GONE = 0, 1, 2
"""The versions: Max alone; Ada, too; Max alone again."""


def make_people(folder: Path, **options: Any) -> str:
    """The table with its three versions."""
    for mode, row in (("error", MAX), ("append", ADA)):
        write_deltalake(str(folder), pa.Table.from_pylist([row], SCHEMA), mode=mode, **options)
    DeltaTable(str(folder)).delete("name = 'Ada'")
    return str(folder)


def id_of(folder: str) -> int:
    """The id that a record has of the table."""
    return object_id("TABLE", str(DeltaTable(folder).metadata().id))


@dataclass
class Record:
    """A root in which statements read the table."""

    folder: str
    story: Story = field(default_factory=Story)
    known_place: bool = True
    view_text: str = "SELECT * FROM p.clients"

    def read(
        self, text: str, version: int | None = BOTH, *, view: bool = False, policies: Any = (), **more: Any
    ) -> str:
        """A statement that read the table; gives its id."""
        number = id_of(self.folder)
        base = {"objectDomain": "Table", "objectId": number, "objectName": NAME,
                "columns": [{"columnId": 1, "columnName": "name"}]}  # fmt: skip
        direct = {"objectDomain": "VIEW", "objectId": 5, "objectName": VIEW, "columns": []} if view else base
        versions = [] if version is None else [
            {"objectName": NAME, "objectId": number, "access": "read", "version": version}
        ]  # fmt: skip
        query_id = f"q{len(self.story.rows['query_history']):06}"
        self.story.ran(
            moment(5), "bob", "SELECT", text, **{"query_hash": text_hash(text), **more},
            _direct_objects_accessed=[direct], _base_objects_accessed=[base], _object_versions=versions,
            _policies_referenced=[self._policies(number, one) for one in policies],
        )  # fmt: skip
        return query_id

    @staticmethod
    def _policies(number: int, policy: dict[str, Any]) -> dict[str, Any]:
        said = {
            "policyName": policy["name"], "policyId": 70, "policyKind": "MASKING_POLICY",
            "policyVersion": "a" * 64, "changedResult": policy["changed"],
        }  # fmt: skip
        column = policy.get("column")
        return {
            "objectDomain": "Table", "objectId": policy.get("of", number), "objectName": NAME,
            "columns": [{"columnId": 1, "columnName": column, "policies": [said]}] if column else [],
            "policies": [] if column else [said],
        }  # fmt: skip

    def root(self, folder: Path) -> str:
        """The root on disk."""
        made = make_root(folder, self.story.rows)
        if self.known_place:
            add_catalog(made, [self._measured(), self._view()])
        return made

    def _view(self) -> tuple[Any, ...]:
        relation = {"object_name": VIEW, "object_domain": "VIEW", "object_id": 5,
                    "view_definition": self.view_text}  # fmt: skip
        values = {"kind": "RELATION", "relation": relation, "measured_at": moment(9)}
        return tuple(values.get(name) for name, _, _ in COLUMNS)

    def _measured(self) -> tuple[Any, ...]:
        relation = {
            "object_name": NAME, "schema_name": "p", "object_domain": "Table",
            "object_id": id_of(self.folder), "catalog_name": "spark_catalog", "table_name": "clients",
            "location": f"file:{self.folder}",
        }  # fmt: skip
        values = {"kind": "RELATION", "relation": relation, "measured_at": moment(9)}
        return tuple(values.get(name) for name, _, _ in COLUMNS)
