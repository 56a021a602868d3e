"""The graph as a Mermaid flowchart, which Markdown pages (GitHub's, GitLab's) draw.

In: a `LineageGraph`. Out: text; every name is quoted so that no letter of it means anything to Mermaid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.graph.forms.texts import visible

if TYPE_CHECKING:
    from audit.graph.model import Graph, Node

_PLAIN = frozenset(" ._-")


def to_mermaid(graph: Graph) -> str:
    """A box for each object, in it its columns; indirect edges are dotted."""
    # Names may hold any letter, and the ids of Mermaid may not.
    number = {node.key: f"n{n}" for n, node in enumerate(graph.nodes)}
    objects: dict[int, list[Node]] = {}
    for node in graph.nodes:
        objects.setdefault(node.object_id, []).append(node)
    lines = ["flowchart LR"]
    for at, nodes in enumerate(objects.values()):
        lines.append(f'  subgraph t{at}["{quoted(nodes[0].object_name)}"]')
        for node in nodes:
            label = "(all)" if node.column_name is None else node.column_name
            lines.append(f'    {number[node.key]}["{quoted(label)}"]')
        lines.append("  end")
    for edge in graph.edges:
        arrow = "-.->" if edge.is_indirect else "-->"
        lines.append(f"  {number[edge.source.key]} {arrow} {number[edge.target.key]}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A label between double quotes: what is not a letter, a digit or ` ._-` becomes its number.

    >>> quoted('a"]<b>')
    'a#34;#93;#60;b#62;'
    """
    return "".join(
        letter if letter.isalnum() or letter in _PLAIN else f"#{ord(letter)};" for letter in visible(text)
    )
