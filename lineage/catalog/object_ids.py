"""The ids of objects and columns: 63-bit integers made from what survives a rename. The only place.

In: Delta's metadata id of a table, a column-mapping id; else a name. Out: the objectId and columnId of
a record. The same object has the same id in every session and every driver, without a registry, and offline
(`lineage.analyze`) as well wherever the catalog there knows the same facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

from lineage.model import Relation

_MASK = (1 << 63) - 1


def object_id(kind: str, key: str) -> int:
    """The id of an object: of a Delta table from its metadata id, of others from the qualified name.

    >>> object_id("TABLE", "a") == object_id("TABLE", "a") != object_id("TABLE", "b")
    True
    """
    return _number(f"{kind.upper()}\x00{key.casefold()}")


def column_id(of_object: int, key: int | str) -> int:
    """The id of a column: from Delta's column-mapping id where the table has one, else from its name.

    >>> column_id(1, "A") == column_id(1, "a") != column_id(2, "a")
    True
    """
    return _number(f"{of_object}\x00{key.casefold() if isinstance(key, str) else key}")


def with_ids(
    relation: Relation, table_id: str | None = None, mapping_ids: Sequence[int | None] = ()
) -> Relation:
    """The relation with an id for itself and for each of its columns; ids that it has stay.

    Args:
        relation: of any catalog.
        table_id: Delta's metadata id (`id` of DESCRIBE DETAIL), None where it is not known.
        mapping_ids: Delta's column-mapping ids by column, None or empty where the table has none.

    >>> from lineage.model import Column, Relation
    >>> table = Relation("spark_catalog.s.t", columns=(Column("a"),))
    >>> with_ids(table).object_id == object_id("TABLE", "spark_catalog.s.t")
    True
    >>> with_ids(table, "c2f3-91").object_id == object_id("TABLE", "c2f3-91")
    True
    """
    identity = relation.object_id
    if identity is None:
        identity = (
            object_id("TABLE", table_id) if table_id else object_id(relation.domain.value, relation.name)
        )
    mapped = mapping_ids or (None,) * len(relation.columns)
    columns = tuple(
        [
            # Delta counts its column-mapping ids from 1, so that 0 is none.
            c if c.column_id is not None else replace(c, column_id=column_id(identity, m or c.name))
            for c, m in zip(relation.columns, mapped, strict=True)
        ]
    )
    return replace(relation, object_id=identity, columns=columns)


def _number(text: str) -> int:
    # surrogatepass: a name may hold lone surrogates, which UTF-8 refuses.
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    # 63 bits: the BIGINT of Delta has a sign.
    return int.from_bytes(digest, "big") & _MASK
