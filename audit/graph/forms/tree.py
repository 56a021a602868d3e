"""The graph as a tree of lines, for a terminal.

In: a `LineageGraph`. Out: text; what was shown once is not unfolded again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.graph.forms.texts import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from audit.graph.model import Edge, Graph, Node

_LINES = 2_000
Key = tuple[int, int | None]
Links = dict[Key, list[tuple["Node", "Edge"]]]


def to_tree(graph: Graph) -> str:
    """What was asked for, and below it, hop by hop, where it comes from or where it goes."""
    head = visible(graph.name) + (f" as of {graph.as_of:%Y-%m-%d %H:%M:%S} UTC" if graph.as_of else "")
    head += failed(graph.nodes[0])
    lines = [head]
    for direction, verb in (("upstream", "comes from"), ("downstream", "goes to")):
        if graph.direction not in (direction, "both"):
            continue
        below = list(_branches(graph, _links(graph, up=direction == "upstream")))
        lines.append(f"{verb}:" if below else f"{verb}: nothing on record")
        lines += below[:_LINES]
        if len(below) > _LINES:
            lines.append(f"… and {len(below) - _LINES:,} lines more; to_pandas() and to_dict() have all")
    return "\n".join(lines)


def _links(graph: Graph, *, up: bool) -> Links:
    links: Links = {}
    for edge in graph.edges:
        here, there = (edge.target, edge.source) if up else (edge.source, edge.target)
        links.setdefault(here.key, []).append((there, edge))
    return links


def _branches(graph: Graph, links: Links) -> Iterator[str]:
    """The lines below the beginning; of a table, those of each of its columns."""
    first = graph.nodes[0]
    shown: set[Key] = set()
    if first.column_id is not None:
        yield from _below(first, links, shown)
        return
    columns = [n for n in graph.nodes if n.object_id == first.object_id and n.key in links]
    for node in sorted(columns, key=lambda n: n.column_name or ""):
        yield f"  {visible(node.column_name or '(all columns)')}{failed(node)}"
        for line in _below(node, links, shown):
            yield f"  {line}"


def _below(start: Node, links: Links, shown: set[Key]) -> Iterator[str]:
    """Depth first without recursion: a chain may be longer than Python's stack."""
    shown.add(start.key)
    stack = [(start, iter(_children(start, links)), "")]
    while stack:
        _, children, indent = stack[-1]
        following = next(children, None)
        if following is None:
            stack.pop()
            continue
        (node, edge), is_last = following
        again = node.key in shown and node.key in links
        yield f"{indent}{'└─ ' if is_last else '├─ '}{_line(node, edge)}{' (see above)' * again}"
        if not again:
            shown.add(node.key)
            stack.append((node, iter(_children(node, links)), indent + ("   " if is_last else "│  ")))


def _children(node: Node, links: Links) -> list[tuple[tuple[Node, Edge], bool]]:
    found = links.get(node.key, [])
    return [(child, at == len(found) - 1) for at, child in enumerate(found)]


def _line(node: Node, edge: Edge) -> str:
    what = [*(change.lower() for change in edge.transformations)] or [edge.kind]
    if edge.kind == "base":
        what.append("below a view")
    if edge.fields:
        what.append(f"field {', '.join(map(visible, edge.fields))}")
    times = "once" if edge.count == 1 else f"{edge.count:,} times"
    what.append(
        f"{times}, last {edge.last:%Y-%m-%d %H:%M} by {', '.join(map(visible, edge.users[:3])) or '?'}"
    )
    gone = f" (dropped {node.dropped:%Y-%m-%d})" if node.dropped else ""
    return f"{visible(node.name)}{gone}{failed(node)}  [{'; '.join(what)}]"


def failed(node: Node) -> str:
    """What a line says of a node's failed checks."""
    names = ", ".join(map(visible, node.failed_checks))
    return f" (✗ failed: {names})" if names else ""
