"""Rows of the two lineage tables as arrays of small integers, once for each version of the tables.

In: `column_lineage` and `table_lineage` as Arrow tables. Out: a `History`, from which `Snapshot` makes
what held at a moment. No Spark, and no parser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage.catalog.object_ids import column_id, object_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

# Kinds of rows: a value copied or computed, the same seen below views, a row that only shapes, and a
# statement of which only the tables are known.
DIRECT, BASE, INDIRECT, TABLE = range(4)

_BOTH = (
    "query_id", "query_start_time", "user_name", "query_type",
    "source_object_id", "source_object_name", "source_object_domain",
    "target_object_id", "target_object_name", "target_object_domain", "source_kind", "is_indirect",
)  # fmt: skip
COLUMN_FIELDS = (
    *_BOTH, "source_column_id", "source_column_name", "target_column_id", "target_column_name",
    "transformation",
)  # fmt: skip
TABLE_FIELDS = (*_BOTH, "overwrites")
TEXTS = frozenset(
    name for name in (*COLUMN_FIELDS, *TABLE_FIELDS)
    if name.endswith(("_name", "_domain", "_kind", "_type", "transformation", "query_id"))
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Events:
    """What happened to objects as a whole: an array entry for each row of `table_lineage`, both ends.

    `resets` is true where all that was in the object went away: replaced, truncated, dropped. `defines`
    is true where a view got its text.
    """

    obj: Ints
    time: Ints
    name: Ints
    resets: NDArray[np.bool_]
    defines: NDArray[np.bool_]
    drops: NDArray[np.bool_]
    undrops: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class History:
    """Every row ever recorded; numbers stand for objects, columns, texts. Times are UTC microseconds.

    `source` and `target` are columns (-1: the object as a whole), `source_object` and `target_object` their
    objects; `kind` is DIRECT, BASE, INDIRECT or TABLE.
    """

    time: Ints
    kind: NDArray[np.int8]
    source: Ints
    target: Ints
    source_object: Ints
    target_object: Ints
    source_name: Ints
    target_name: Ints
    query: Ints
    user: Ints
    transformation: Ints
    column_object: Ints
    object_ids: Ints
    column_ids: Ints
    is_view: NDArray[np.bool_]
    domain: tuple[str, ...]
    object_names: tuple[str, ...]
    column_names: tuple[str, ...]
    users: tuple[str, ...]
    transformations: tuple[str, ...]
    query_ids: Any
    events: Events

    @classmethod
    def read(cls, columns: pa.Table, tables: pa.Table) -> History:
        """The rows of both tables as arrays."""
        tables, schema_changes = _without_schemas(tables)
        # One numbering for both tables, so that their rows can be compared.
        both = (columns, tables)
        names, object_names = _texts(*(t[f"{end}_object_name"] for t in both for end in _ENDS))
        domains, domain_names = _texts(*(t[f"{end}_object_domain"] for t in both for end in _ENDS))
        ids = [t[f"{end}_object_id"] for t in both for end in _ENDS]
        objects, object_ids = _numbers(
            *(
                _object_ids(*ends, object_names, domain_names)
                for ends in zip(ids, names, domains, strict=True)
            )
        )
        labels, column_names = _texts(columns["source_column_name"], columns["target_column_name"])
        ids = [columns[f"{end}_column_id"] for end in _ENDS]
        (source, target), column_ids = _numbers(
            *(
                _column_ids(*ends, column_names, object_ids)
                for ends in zip(ids, labels, objects[:2], strict=True)
            )
        )
        column_object = np.zeros(len(column_ids), np.int64)
        for column, obj in ((source, objects[0]), (target, objects[1])):
            column_object[column[column >= 0]] = obj[column >= 0]
        queries, query_ids = _encode(columns["query_id"], tables["query_id"])
        users, user_names = _texts(columns["user_name"], tables["user_name"])
        (transformation,), transformations = _texts(columns["transformation"])
        domain = np.full(len(object_ids), -1, np.int64)
        for code, obj in zip(domains, objects, strict=True):
            # Of an index that comes several times numpy keeps the last value.
            domain[obj[obj >= 0]] = code[obj >= 0]
        domain_of = tuple(domain_names[code] if code >= 0 else "" for code in domain)
        is_view = np.array(["VIEW" in text.upper() for text in domain_of], bool)
        column_kind, table_kind = _kind(columns, DIRECT), _kind(tables, TABLE)
        rest = _only_tables(queries, objects, column_kind, table_kind)
        # -1: rows of table_lineage have no columns.
        whole, nobody = np.full(int(rest.sum()), -1), np.full(int(rest.sum()), -1)
        times = [_micros(t) for t in both]

        def joined(of_columns: Any, of_tables: Any) -> Any:
            return np.concatenate([of_columns, of_tables]) if len(of_tables) else of_columns

        return cls(
            time=joined(times[0], times[1][rest]),
            kind=joined(column_kind, table_kind[rest]),
            source=joined(source, whole),
            target=joined(target, whole),
            source_object=joined(objects[0], objects[2][rest]),
            target_object=joined(objects[1], objects[3][rest]),
            source_name=joined(labels[0], nobody),
            target_name=joined(labels[1], nobody),
            query=joined(queries[0], queries[1][rest]),
            user=joined(users[0], users[1][rest]),
            transformation=joined(transformation, nobody),
            column_object=column_object,
            object_ids=object_ids,
            column_ids=column_ids,
            is_view=is_view,
            domain=domain_of,
            object_names=object_names,
            column_names=column_names,
            users=user_names,
            transformations=transformations,
            query_ids=query_ids,
            events=_with_schemas(
                _events(both, objects, names, times, is_view, queries[1]), object_names, schema_changes
            ),
        )


_ENDS = ("source", "target")
_NONE = -1


def _encode(*columns: Any) -> tuple[list[Ints], Any]:
    """Several columns by one numbering of their values; null is -1."""
    chunks = [chunk for column in columns for chunk in _dictionary(column).chunks]
    if not chunks:
        return [np.zeros(0, np.int64) for _ in columns], pa.array([], pa.string())
    # Each Parquet file has a dictionary of its own; unified, equal texts have equal codes.
    unified = pa.chunked_array(chunks).unify_dictionaries()
    codes = np.concatenate([_plain(chunk.indices) for chunk in unified.chunks])
    return np.split(codes, np.cumsum([len(c) for c in columns])[:-1]), unified.chunk(0).dictionary


def _dictionary(column: Any) -> Any:
    return column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column.cast(pa.string()))


def _texts(*columns: Any) -> tuple[list[Ints], tuple[str, ...]]:
    codes, values = _encode(*columns)
    return codes, tuple(values.to_pylist())


def _numbers(*columns: Ints) -> tuple[list[Ints], Ints]:
    """Several columns of ids by one numbering; -1 stays."""
    joined = np.concatenate(columns)
    ids = pa.Array.from_buffers(pa.int64(), len(joined), [None, pa.py_buffer(joined)])
    found = pc.dictionary_encode(ids)
    codes = np.where(joined == _NONE, _NONE, _plain(found.indices))
    return np.split(codes, np.cumsum([len(c) for c in columns])[:-1]), _plain(found.dictionary)


def _plain(array: Any) -> Ints:
    """An Arrow array's integers, -1 for null; by its buffers, since `to_numpy` imports pandas (0.5 s)."""
    kinds = {1: np.uint8, 8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
    validity, data = array.buffers()[:2]
    first, last = array.offset, array.offset + len(array)
    # Arrow packs booleans and validity as bits, the lowest one first.
    if pa.types.is_boolean(array.type):
        values = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[first:last].astype(np.int64)
    else:
        values = np.frombuffer(data, kinds[array.type.bit_width], last)[first:].astype(np.int64, copy=False)
    if array.null_count:
        valid = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")[first:last]
        values = np.where(valid, values, _NONE)
    return values


def _ints(column: Any) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *(_plain(chunk) for chunk in column.chunks)])


def _object_ids(
    ids: Any, names: Ints, domains: Ints, all_names: tuple[str, ...], all_domains: tuple[str, ...]
) -> Ints:
    """The ids of objects; a row that has a name without one gets the id of the name."""
    found = _ints(ids)
    for at in np.flatnonzero((found == _NONE) & (names >= 0)):
        domain = all_domains[domains[at]] if domains[at] >= 0 else ""
        found[at] = object_id(domain, all_names[names[at]])
    return found


def _column_ids(ids: Any, labels: Ints, objects: Ints, all_labels: tuple[str, ...], object_ids: Ints) -> Ints:
    """The ids of columns; a row that has a name without one gets the id of the name."""
    found = _ints(ids)
    for at in np.flatnonzero((found == _NONE) & (labels >= 0)):
        found[at] = column_id(int(object_ids[objects[at]]), all_labels[labels[at]])
    return found


def _micros(table: pa.Table) -> Ints:
    column = table["query_start_time"].cast(pa.timestamp("us", "UTC"))
    return _ints(column.cast(pa.int64()))


def _flags(column: Any) -> NDArray[np.bool_]:
    return np.asarray(_ints(column) == 1)


def _kind(table: pa.Table, direct: int) -> NDArray[np.int8]:
    (codes,), kinds = _texts(table["source_kind"])
    # The additional last entry is for -1, the code of a null.
    is_base = np.array([kind == "base" for kind in kinds] + [False], bool)[codes]
    kind = np.where(is_base, BASE, direct)
    # Below views, too, only what a statement names itself chains.
    return np.where(_flags(table["is_indirect"]), np.where(is_base, BASE, INDIRECT), kind).astype(np.int8)


def _only_tables(
    queries: list[Ints], objects: list[Ints], column_kind: NDArray[np.int8], kind: NDArray[np.int8]
) -> NDArray[np.bool_]:
    """The rows of `table_lineage` that no row of `column_lineage` tells more exactly."""
    many = max(int(part.max(initial=0)) for part in objects) + 1

    def key(query: Ints, source: Ints, target: Ints, indirect: NDArray[np.bool_]) -> Ints:
        # One integer for the four, so that one `isin` compares them.
        return ((query * many + source) * many + target) * 2 + indirect

    told = key(queries[0], objects[0], objects[1], column_kind == INDIRECT)
    asked = key(queries[1], objects[2], objects[3], kind == INDIRECT)
    return np.asarray((objects[2] >= 0) & (objects[3] >= 0) & (kind != BASE) & ~np.isin(asked, told))


def _events(
    both: tuple[pa.Table, pa.Table],
    objects: list[Ints],
    names: list[Ints],
    times: list[Ints],
    is_view: NDArray[np.bool_],
    query: Ints,
) -> Events:
    tables = both[1]
    (codes,), types = _texts(tables["query_type"])

    def typed(*starts: str) -> NDArray[np.bool_]:
        found = np.array([t.upper().startswith(starts) for t in types] + [False], bool)
        return np.asarray(found[codes])

    source, target = objects[2], objects[3]
    has_target = target >= 0
    view = np.zeros(len(target), bool)
    view[has_target] = is_view[target[has_target]]
    # ALTER VIEW … AS has sources; a rename or new properties of a view have none.
    redefines = view & (source >= 0) & typed("ALTER_VIEW")
    ends = _flags(tables["overwrites"]) | typed("CREATE", "REPLACE", "DROP", "TRUNCATE", "ALTER_TABLE_TRUNC")
    # INSERT OVERWRITE t SELECT … FROM t: what was in t is in it still.
    self_overwrite = np.isin(query * 2, query[(source == target) & has_target] * 2) & ~typed(
        "DROP", "TRUNCATE"
    )
    if self_overwrite.any():
        many = int(target.max(initial=0)) + 1
        own = (source == target) & has_target
        self_overwrite &= np.isin(query * many + target, (query * many + target)[own])
    resets = (ends & ~self_overwrite) | redefines
    defines = view & (typed("CREATE", "REPLACE") | redefines)
    # What only column_lineage knows has its name from there.
    told = np.zeros(int(max((part.max(initial=-1) for part in objects), default=-1)) + 1, bool)
    told[source[source >= 0]], told[target[has_target]] = True, True
    more = [(obj, name, times[0]) for obj, name in zip(objects[:2], names[:2], strict=True)]
    extra = [(o[~told[o]], n[~told[o]], t[~told[o]]) for o, n, t in more] if not told.all() else []
    has_source = source >= 0
    parts = [
        (target[has_target], names[3][has_target], times[1][has_target]),
        (source[has_source], names[2][has_source], times[1][has_source]),
        *extra,
    ]
    # Statements reset, define and drop their targets alone.
    rest = sum(len(part[0]) for part in parts[1:])

    def flags(values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.concatenate([values[has_target], np.zeros(rest, bool)])

    return Events(
        obj=np.concatenate([part[0] for part in parts]),
        name=np.concatenate([part[1] for part in parts]),
        time=np.concatenate([part[2] for part in parts]),
        resets=flags(resets),
        defines=flags(defines),
        drops=flags(typed("DROP")),
        undrops=flags(typed("UNDROP")),
    )


_SchemaChanges = list[tuple[int, str, bool]]
"""When a schema was dropped or came back, its name, and whether it was dropped."""


def _without_schemas(tables: pa.Table) -> tuple[pa.Table, _SchemaChanges]:
    """The rows about tables, and the schemas that were dropped or came back, in the order of time."""
    (codes,), types = _texts(tables["query_type"])
    kinds = ("DROP_SCHEMA", "UNDROP_SCHEMA")
    of_schema = np.isin(codes, [at for at, text in enumerate(types) if text in kinds])
    if not of_schema.any():
        return tables, []
    changed = tables.take(np.flatnonzero(of_schema))
    names = changed["target_object_name"].cast(pa.string()).to_pylist()
    dropped = [text == kinds[0] for text in changed["query_type"].cast(pa.string()).to_pylist()]
    changes = sorted(zip(_micros(changed).tolist(), names, dropped, strict=True))
    return tables.take(np.flatnonzero(~of_schema)), changes


def _with_schemas(events: Events, names: tuple[str, ...], changes: _SchemaChanges) -> Events:
    """A schema takes along what is in it, by its name of that time; UNDROP SCHEMA brings the same back."""
    if not changes:
        return events
    prefixes = tuple({f"{schema.casefold()}." for _, schema, _ in changes})
    folded = [name.casefold() for name in names]
    inside = np.array([name.startswith(prefixes) for name in folded], bool)
    of_schemas = np.flatnonzero(np.isin(events.obj, events.obj[inside[events.name]]))
    of_schemas = of_schemas[np.argsort(events.time[of_schemas], kind="stable")]
    newest: dict[int, int] = {}
    # What each schema took along when it was dropped last.
    taken: dict[str, list[int]] = {}
    added: list[tuple[int, int, bool]] = []
    at = 0
    for time, schema, is_drop in changes:
        until = int(np.searchsorted(events.time[of_schemas], time))
        newest.update(
            zip(events.obj[of_schemas[at:until]].tolist(), of_schemas[at:until].tolist(), strict=True)
        )
        at = until
        prefix = f"{schema.casefold()}."
        if is_drop:
            taken[prefix] = [
                event
                for event in newest.values()
                if folded[events.name[event]].startswith(prefix) and not events.drops[event]
            ]
            # It is dropped now: a later drop of that schema does not drop it again.
            for event in taken[prefix]:
                del newest[int(events.obj[event])]
            added += [(event, time, True) for event in taken[prefix]]
        else:
            back = taken.pop(prefix, [])
            newest.update((int(events.obj[event]), event) for event in back)
            added += [(event, time, False) for event in back]
    of = [event for event, _, _ in added]
    drops = np.array([is_drop for _, _, is_drop in added], bool)
    return Events(
        obj=np.concatenate([events.obj, events.obj[of]]),
        time=np.concatenate([events.time, np.array([time for _, time, _ in added], np.int64)]),
        name=np.concatenate([events.name, events.name[of]]),
        resets=np.concatenate([events.resets, drops]),
        defines=np.concatenate([events.defines, np.zeros(len(of), bool)]),
        drops=np.concatenate([events.drops, drops]),
        undrops=np.concatenate([events.undrops, ~drops]),
    )
