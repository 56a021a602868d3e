"""Proofs that a statement is in the log of digests, for whoever has neither the tables nor this project.

In: the tables of a root, the id of a statement. Out: JSON with its rows, the paths in two Merkle trees from
them to the signed checkpoint, and the checkpoint. Only the statement's day is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from audit.core.errors import QueryFailed
from audit.evidence.leaves import leaf
from audit.evidence.merkle import inclusion_proof, leaf_hash
from audit.evidence.row_texts import Columns, alike, groups, merged, text_of_several
from audit.query.answer import Source
from audit.query.digests.check_rows import Place, columns_listed, leaves_in
from audit.query.digests.check_tables import entries_of
from audit.store.tables import AUDIT_TABLES

FORMAT = "spark-access-history proof 1"


def prove(source: Source, query_id: str, key: str = "") -> dict[str, Any]:
    """The proof of a statement.

    Args:
        source: what reads the tables.
        query_id: of the statement.
        key: the text of the public key that its signature is to be checked with; "" for the log's own word.

    Raises:
        QueryFailed: there is no such statement, or nobody has signed it as it is there.
    """
    entries = entries_of(source)
    said = [one.said() for one in entries]
    hashes = [leaf_hash(one.body.encode()) for one in entries]
    proofs = [
        proof
        | {
            "entry": entries[proof["sequence"]].body,
            "log_path": _hex(inclusion_proof(hashes, proof["sequence"])),
        }
        for place in _places(source, query_id)
        for proof in _proofs(source, query_id, place, said)
    ]
    if not proofs:
        raise QueryFailed(f"there is no statement {query_id}", "check the id, or run `audit ingest`")
    return {
        "format": FORMAT,
        "query_id": query_id,
        "key": key or said[0]["key"],
        "checkpoint": entries[-1].checkpoint,
        "proofs": proofs,
    }


def _places(source: Source, query_id: str) -> Iterator[Place]:
    """The tables and days that have rows of a statement."""
    for table in AUDIT_TABLES:
        if source.types(table.name):
            text = f"SELECT DISTINCT query_date FROM {source.schema}.{table.name} WHERE query_id = :query_id"  # noqa: S608 - our own names
            for (day,) in source.ask(text, {"query_id": query_id}).rows:
                yield Place(table.name, str(day))


def _proofs(
    source: Source, query_id: str, place: Place, said: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The way of a statement's rows in a table to the root in an entry."""
    parts = {
        number: part
        for number, entry in enumerate(said)
        for part in entry.get("parts", ())
        if (part["table"], part["day"]) == place
    }
    columns = columns_listed(said)
    bound = leaves_in(source, place, min(parts), max(parts)) if parts else ()
    for sequence, keys, leaves in bound:
        if sequence not in parts or query_id not in keys:
            continue
        at = keys.index(query_id)
        where = f"query_id = '{query_id}' AND {place.where}"
        counted = columns[parts[sequence]["columns"]]
        texts = _texts(source, place, where, counted)
        if leaf(texts, has_groups=bool(groups(counted))) != leaves[at]:
            raise QueryFailed(
                f"the rows of {query_id} in {place.table} are not as they were signed",
                "`audit verify` tells what else is wrong",
            )
        yield {
            "table": place.table,
            **_shown(texts, [_texts(source, place, where, group) for group in groups(counted).values()]),
            "leaf": at,
            "leaves": len(leaves),
            "path": _hex(inclusion_proof(leaves, at)),
            "sequence": sequence,
        }
        return
    raise QueryFailed(
        f"nobody has signed the rows of {query_id} in {place.table}",
        "statements from before the log of digests are not signed; those that run are, when they have ended",
    )


def _shown(texts: Sequence[bytes], of_groups: Sequence[Sequence[bytes]]) -> dict[str, Any]:
    """The texts of a statement's rows as its leaf has them, and what their hashes are of, by hash."""
    if not of_groups:
        return {"rows": [text.decode() for text in sorted(texts)], "groups": {}}
    several = [text_of_several(hashes) for hashes in alike(texts).values() if len(hashes) > 1]
    shown = (text for some in (*of_groups, several) for text in some)
    return {
        "rows": [text.decode() for text in merged(texts)],
        "groups": {sha256(text).hexdigest(): text.decode() for text in shown},
    }


def _texts(source: Source, place: Place, where: str, columns: Columns) -> list[bytes]:
    """The texts of some rows."""
    found = source.texts(place.table, "query_id", where, columns)
    return [bytes(text) for _, some in found for text in some]


def _hex(hashes: Sequence[bytes]) -> list[str]:
    return [one.hex() for one in hashes]
