"""The flow of data as a picture: boxes and arrows.

In: a figure whose rows are edges. Out: the SVG of `audit.graph`, which follows light and dark by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timezone
from typing import TYPE_CHECKING, Any

from audit.core.plain_text import escaped
from audit.graph.lineage_graph import LineageGraph
from audit.graph.model import Edge, Node

if TYPE_CHECKING:
    from audit.report.answers import Filled

_SIZE = re.compile(r'width="([0-9.]+)" height="([0-9.]+)"')


def picture(filled: Filled, start: str = "") -> str:
    """The picture of a figure's edges.

    Args:
        filled: the figure, with the columns `source_…`, `target_…`, `is_indirect`, `statements`,
            `first_written`, `last_written`, `users`.
        start: the object that the picture is about, which is marked; "": it is about all.
    """
    rows = [dict(zip(filled.columns, row, strict=True)) for row in filled.rows]
    nodes: dict[int, Node] = {}
    for row in rows:
        for side in ("source", "target"):
            node = _node(row, side)
            nodes.setdefault(node.object_id, node)
    ordered = sorted(nodes.values(), key=lambda one: one.object_name != start)
    edges = tuple(_edge(row, nodes) for row in rows)
    graph = LineageGraph(escaped(start), "both", None, tuple(ordered), edges)
    return (
        graph.to_svg() if start else graph.to_svg(heading="The flow of data between tables, views and files")
    )


def is_wide(svg: str, pixels: float = 1_100) -> bool:
    """Whether a picture is too wide for a page that stands upright.

    >>> is_wide('<svg width="2000" height="3">'), is_wide('<svg width="300" height="3">')
    (True, False)
    """
    size = _SIZE.search(svg)
    return size is not None and float(size[1]) > pixels


def _node(row: Mapping[str, Any], side: str) -> Node:
    name = row[f"{side}_object_name"] or "?"
    return Node(
        object_id=row[f"{side}_object_id"],
        object_name=escaped(_last_parts(name) if "/" in name else name),
        object_domain=escaped(row[f"{side}_object_domain"] or "Table"),
    )


def _last_parts(path: str) -> str:
    """The end of a path: boxes as wide as whole ones would make the picture too small to read.

    >>> _last_parts("file:/data/in/people.csv"), _last_parts("file:/in/")
    ('in/people.csv', 'file:/in')
    """
    return "/".join(path.rstrip("/").split("/")[-2:])


def _edge(row: Mapping[str, Any], nodes: Mapping[int, Node]) -> Edge:
    return Edge(
        source=nodes[row["source_object_id"]],
        target=nodes[row["target_object_id"]],
        kind="direct",
        is_indirect=bool(row["is_indirect"]),
        transformations=(),
        fields=(),
        count=row["statements"],
        first=row["first_written"].replace(tzinfo=timezone.utc),
        last=row["last_written"].replace(tzinfo=timezone.utc),
        query_ids=(),
        users=tuple(escaped(one) for one in row["users"]),
    )
