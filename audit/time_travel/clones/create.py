"""The text of a CREATE with properties for Snowflake's clauses, and the places of new tables.

In: a `CreateTable` and its text. Out: the text with table properties for TRANSIENT and
DATA_RETENTION_TIME_IN_DAYS; a location of its own for a new table. Such a table is external: DROP removes it
from the catalog alone, and UNDROP registers it again.
"""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

from audit.time_travel.errors import BadParameterError
from audit.time_travel.retention.parameters import HOURS_ALLOWED, allowed_values
from audit.time_travel.retention.periods import LONGEST_DAYS, LONGEST_TRANSIENT_DAYS, TRANSIENT, key
from lineage.names import sql_text
from lineage.sql.commands.create import CreateSchema, CreateTable
from lineage.sql.commands.time_travel.clone import CloneTable
from lineage.sql.commands.time_travel.retention import HOURS, RETENTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FOLDER = "_tables"
# For a schema outside of the warehouse the folder begins with the schema's name, as folders of users may:
# only a table's name with a UUID tells them apart.
_PLACE = re.compile(rf"{FOLDER}/[A-Za-z0-9_-]*-[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}\Z")


def properties_of(create: CreateTable | CreateSchema | CloneTable) -> dict[str, str]:
    """The table properties for Snowflake's clauses.

    >>> properties_of(CreateSchema(("s",), hours="96"))
    {'timeTravel.maxTimeTravelHours': '96'}

    Raises:
        BadParameterError: the retention is out of range.
    """
    found = {key(TRANSIENT): "true"} if create.transient else {}
    days = create.retention
    if days is not None:
        longest = LONGEST_TRANSIENT_DAYS if create.transient else LONGEST_DAYS
        if not days.isdecimal() or int(days) > longest:
            raise BadParameterError(f"{RETENTION} = {days or 'nothing'} cannot be", f"0 to {longest} days")
        found[key(RETENTION)] = days
    hours = create.hours if isinstance(create, CreateSchema) else None
    if hours is not None:
        if not hours.isdecimal() or int(hours) not in HOURS_ALLOWED:
            raise BadParameterError(f"{HOURS} = {hours or 'nothing'} cannot be", allowed_values(HOURS))
        found[key(HOURS)] = hours
    return found


def with_properties(text: str, create: CreateTable | CreateSchema, properties: Mapping[str, str]) -> str:
    """The text with properties, and without the clauses that only Snowflake has.

    >>> from lineage.sql.parse import typed_of
    >>> sql = "CREATE SCHEMA s DATA_RETENTION_TIME_IN_DAYS = 5 -- for now"
    >>> with_properties(sql, typed_of(sql), properties_of(typed_of(sql)))
    "CREATE SCHEMA s WITH DBPROPERTIES ('timeTravel.dataRetentionTimeInDays' = '5') -- for now"
    """
    noun, spans = "WITH DBPROPERTIES" if isinstance(create, CreateSchema) else "TBLPROPERTIES", create.spans
    edits, clauses = [(first, stop, "") for first, stop in spans.removed], ""
    pairs = literal_properties(properties)
    if pairs and spans.properties is None:
        clauses = f" {noun} ({pairs})"
    elif pairs and spans.properties is not None:
        edits.append((spans.properties, spans.properties, f"{pairs}, "))
    return replace_spans(text, [*edits, (spans.clauses, spans.clauses, clauses)])


def replace_spans(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """A text with some spans replaced: (first, stop, new); they must not overlap.

    >>> replace_spans("abcd", [(1, 2, "x"), (4, 4, "!")])
    'axcd!'
    """
    # From the end, so that earlier positions stay valid.
    for first, stop, new in sorted(edits, reverse=True):
        text = text[:first] + new + text[stop:]
    return text


def literal_properties(properties: Mapping[str, str]) -> str:
    """Properties as SQL: the pairs between the brackets of TBLPROPERTIES."""
    return ", ".join(f"{sql_text(name)} = {sql_text(value)}" for name, value in properties.items())


def path_part(name: str) -> str:
    """A name as part of a path, with characters that every file system accepts.

    >>> path_part("Umsätze 2026")
    'Ums_tze_2026'
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:80]


def folder_of(schema_location: str, warehouse: str) -> str:
    """The folder for the tables of a schema. It lies outside the schema's folder, which DROP SCHEMA deletes.

    >>> folder_of("file:/w/s.db", "file:/w"), folder_of("s3a://b/finance", "file:/w")
    ('file:/w/_tables', 's3a://b/finance_tables')
    """
    schema, root = schema_location.rstrip("/"), warehouse.rstrip("/")
    if schema == root or schema.rpartition("/")[0] == root:
        return f"{root}/{FOLDER}"
    return f"{schema}{FOLDER}"


def is_place(location: str) -> bool:
    """Whether a location is one of `place_in`, or of a table that was moved out of its schema.

    >>> is_place("file:/w/_tables/t-1"), is_place("file:/w/my_tables/t-1")
    (True, False)
    """
    location = location.rstrip("/")
    return location.rpartition("/")[0].endswith(f"/{FOLDER}") or _PLACE.search(location) is not None


def place_in(schema_location: str, warehouse: str, name: str, own: uuid.UUID | None = None) -> str:
    """A unique location for a new table of a schema.

    Args:
        schema_location: of the schema.
        warehouse: the folder of all schemas.
        name: of the table.
        own: makes it unique; random by default.
    """
    return f"{folder_of(schema_location, warehouse)}/{path_part(name)}-{own or uuid.uuid4()}"
