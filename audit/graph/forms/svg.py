"""The graph as a picture: SVG that a notebook, a browser or a README shows; no script, no fonts of its own.

In: a `LineageGraph`. Out: SVG text. Data flows from left to right; dashed edges filter, join or sort. Every
name goes through `xml`; long ones are cut and stand in full in their tooltips. It follows light and dark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.graph.forms.boxes import HEAD, LONGEST, PAD, ROW, Card, Drawing, draw
from audit.graph.forms.texts import cut, xml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from audit.graph.forms.layout import Box
    from audit.graph.model import Edge, Graph, Node

_MARGIN, _TITLE = 24.0, 44.0

# (class, property, light, dark)
_COLOURS = (
    ("page", "fill", "#ffffff", "#0d1117"),
    ("box", "fill", "#ffffff", "#161b22"),
    ("box", "stroke", "#afb8c1", "#484f58"),
    ("table", "fill", "#ddf4ff", "#12304f"),
    ("view", "fill", "#fbefff", "#3b2259"),
    ("other", "fill", "#fff8c5", "#3f3410"),
    ("start", "fill", "#ffd8b5", "#6b3a12"),
    ("text", "fill", "#1f2328", "#e6edf3"),
    ("soft", "fill", "#59636e", "#9198a1"),
    ("edge", "stroke", "#6e7781", "#8b949e"),
    ("head", "fill", "#6e7781", "#8b949e"),
    ("edge:hover", "stroke", "#d1242f", "#ff7b72"),
    ("failed", "fill", "#d1242f", "#ff7b72"),
)


def to_svg(graph: Graph, heading: str = "") -> str:
    """The picture.

    Args:
        graph: what is drawn.
        heading: of a graph that is about no single object, of which none is marked then.
    """
    drawing = draw(graph)
    start = None if heading else graph.nodes[0]
    # 30: an edge from a box to itself bends 26 pixels out.
    width = max(drawing.layout.width, 420.0) + 2 * _MARGIN + 30
    height = drawing.layout.height + 2 * _MARGIN + _TITLE
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lineage-graph" {_size(width, height)}',
        f'role="img" aria-label="{xml(heading or _heading(graph))}">',
        f"<style>{_style()}</style>",
        '<rect class="lg-page" width="100%" height="100%"/>',
        *_caption(drawing, width, heading or _heading(graph)),
        f'<g transform="translate({_MARGIN:.0f} {_MARGIN + _TITLE:.0f})">',
        *_edges(drawing),
        *(
            line
            # The layout has more boxes than cards: the stand-ins of long edges.
            for card, box in zip(drawing.cards, drawing.layout.boxes, strict=False)
            for line in _card(card, box, start)
        ),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines)


def _size(width: float, height: float) -> str:
    return f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'


def _style() -> str:
    # Every rule begins with .lineage-graph: the style of an SVG inside a page is the whole page's.
    def rules(scheme: int, before: str = "") -> str:
        return "".join(
            f"{before}.lineage-graph .lg-{rule[0]}{{{rule[1]}:{rule[2 + scheme]}}}" for rule in _COLOURS
        )

    shape = (
        ".lineage-graph{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
        ".lineage-graph .lg-heading{font-size:13px}"
        ".lineage-graph .lg-small{font-size:11px}"
        ".lineage-graph .lg-edge{fill:none;stroke-width:1.3}"
        ".lineage-graph .lg-edge:hover{stroke-width:3}"
        ".lineage-graph .lg-dash{stroke-dasharray:5 4}"
        ".lineage-graph .lg-dots{stroke-dasharray:1.5 3}"
        ".lineage-graph .lg-gone{opacity:.6}"
        ".lineage-graph .lg-bold{font-weight:600}"
    )
    # A notebook says by an attribute of its page what it is; a browser by its preference.
    notebooks = rules(1, '[data-jp-theme-light="false"] ') + rules(1, ".vscode-dark ")
    light = rules(0, '[data-jp-theme-light="true"] ') + rules(0, ".vscode-light ")
    return f"{shape}{rules(0)}@media (prefers-color-scheme:dark){{{rules(1)}}}{notebooks}{light}"


def _heading(graph: Graph) -> str:
    way = {"upstream": "Where {} comes from", "downstream": "Where {} goes to"}
    text = way.get(graph.direction, "Where {} comes from and goes to").format(cut(graph.name, 80))
    return text + (f", as of {graph.as_of:%Y-%m-%d %H:%M} UTC" if graph.as_of else "")


def _caption(drawing: Drawing, width: float, heading: str) -> Iterator[str]:
    # 7.9 pixels a letter, at the 13 pixels of the heading.
    letters = int((width - 2 * _MARGIN) / 7.9)
    yield _text(cut(heading, letters), _MARGIN, _MARGIN + 6, "lg-text lg-bold lg-heading")
    notes = [f"{_many(len(drawing.cards), 'object')}, {_many(len(drawing.graph.edges), 'edge')}"]
    if any(edge.is_indirect for edge in drawing.graph.edges):
        notes.append("dashed: filters, joins, sorts")
    if any(edge.kind == "base" for edge in drawing.graph.edges):
        notes.append("dotted: below a view")
    if any(node.failed_checks for node in drawing.graph.nodes):
        notes.append("✗: a check fails")
    if drawing.left_out > 0:
        notes.append(f"{drawing.left_out:,} farther objects left out")
    yield _text("; ".join(notes), _MARGIN, _MARGIN + 25, "lg-soft lg-small")


def _many(number: int, of: str) -> str:
    return f"{number} {of}" if number == 1 else f"{number:,} {of}s"


def _card(card: Card, box: Box, start: Node | None) -> Iterator[str]:
    node, marked = card.node, start is not None and start.column_id is None
    here = start is not None and card.node.object_id == start.object_id
    gone = " lg-gone" if node.dropped else ""
    tooltip = f"{node.object_name} ({node.object_domain})" + (
        f", dropped {node.dropped:%Y-%m-%d %H:%M} UTC" if node.dropped else ""
    )
    fails = tuple(
        dict.fromkeys(name for one in (node, *card.rows, *card.hidden) for name in one.failed_checks)
    )
    kind = "view" if "VIEW" in node.object_domain.upper() else "table"
    kind = kind if kind == "view" or node.object_domain.upper() == "TABLE" else "other"
    kind = "start" if here and marked else kind
    x, y, width = box.x, box.y, box.width
    dash = ' stroke-dasharray="4 3"' if node.dropped else ""
    yield f'<g class="lg-card{gone}" transform="translate({x:.1f} {y:.1f})"><title>{xml(tooltip)}</title>'
    yield f'<rect class="lg-box" width="{width:.1f}" height="{box.height:.1f}" rx="6"{dash}/>'
    bottom = HEAD - 1 if card.rows else box.height - 2
    top = f"V7a6 6 0 0 1 6-6H{width - 7:.1f}a6 6 0 0 1 6 6V{bottom:.1f}Z"
    yield f'<path class="lg-{kind}" d="M1 {bottom:.1f}{top}"/>'
    yield _text(card.title, PAD, HEAD / 2 + 4, "lg-text lg-bold")
    if fails:
        yield _failed(fails, width, HEAD / 2 + 4)
    for row in card.rows:
        middle = card.row_y(row)
        full = row.column_name or ""
        if start is not None and row.key == start.key:
            yield (
                f'<rect class="lg-start" x="3" y="{middle - ROW / 2 + 1:.1f}" width="{width - 6:.1f}"'
                f' height="{ROW - 2:.1f}" rx="3"/>'
            )
        yield _text(cut(full, LONGEST), PAD, middle + 4, "lg-text", full)
        if row.failed_checks:
            yield _failed(row.failed_checks, width, middle + 4)
    if card.hidden:
        y_more = HEAD + 2 + len(card.rows) * ROW + ROW / 2 + 4
        yield _text(f"+ {len(card.hidden)} more columns", PAD, y_more, "lg-soft")
    yield "</g>"


def _failed(names: tuple[str, ...], width: float, y: float) -> str:
    """A cross at the right edge of a box; its tooltip names the checks."""
    # 12: the cross and its distance from the edge.
    return _text("✗", width - 12, y, "lg-failed lg-bold", f"failed: {', '.join(names)}")


def _text(text: str, x: float, y: float, style: str, full: str = "") -> str:
    tip = f"<title>{xml(full)}</title>" if full and full != text else ""
    # A name that reads from right to left begins at the left, too.
    where = f'x="{x:.1f}" y="{y:.1f}" direction="ltr"'
    return f'<text class="{style}" {where}>{tip}{xml(text)}</text>'


def _edges(drawing: Drawing) -> Iterator[str]:
    for edge, (source, target) in zip(drawing.graph.edges, drawing.ends, strict=True):
        boxes, cards = drawing.layout.boxes, drawing.cards
        start = boxes[source].y + cards[source].row_y(edge.source)
        end = boxes[target].y + cards[target].row_y(edge.target)
        style = "lg-edge" + (" lg-dash" if edge.is_indirect else " lg-dots" if edge.kind == "base" else "")
        path, tip, left = _path(drawing, source, target, start, end)
        yield f'<path class="{style}" d="{path}"><title>{xml(_tooltip(edge))}</title></path>'
        back = 6 if left else -6
        yield f'<path class="lg-head" d="M{tip:.1f} {end:.1f}l{back} -3.5v7z"/>'


def _path(drawing: Drawing, source: int, target: int, start: float, end: float) -> tuple[str, float, bool]:
    """The path of an edge, where its tip is, and whether the tip points to the left."""
    boxes, lanes = drawing.layout.boxes, drawing.layout.lanes
    one, other = boxes[source], boxes[target]
    if source == target:
        x, out = one.x + one.width, one.x + one.width + 26
        return (
            f"M{x:.1f} {start:.1f}C{out:.1f} {start:.1f} {out:.1f} {end:.1f} {x + 5:.1f} {end:.1f}",
            x,
            True,
        )
    turned = (source, target) not in lanes
    between = lanes[target, source][::-1] if turned else lanes[source, target]
    x, y = (one.x if turned else one.x + one.width), start
    tip = other.x + other.width if turned else other.x
    path = f"M{x:.1f} {y:.1f}"
    if not turned:  # past the wider boxes of its layer before it bends
        x = one.right
        path += f"H{x:.1f}"
    for lane in (boxes[n] for n in between):
        middle = lane.y + lane.height / 2
        enters, leaves = (lane.x + lane.width, lane.x) if turned else (lane.x, lane.x + lane.width)
        path += _curve(x, y, enters, middle) + f"H{leaves:.1f}"
        x, y = leaves, middle
    path += _curve(x, y, other.right, end) + f"H{tip + 5:.1f}" if turned else _curve(x, y, tip - 5, end)
    return path, tip, turned


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = (x + to_x) / 2
    return f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def _tooltip(edge: Edge) -> str:
    what = ", ".join(change.lower() for change in edge.transformations) or edge.kind
    fields = f" of {', '.join(edge.fields)}" if edge.fields else ""
    return (
        f"{edge.source.name} → {edge.target.name}: {what}{fields};"
        f" {edge.count:,} statement{'s' * (edge.count != 1)}, last {edge.last:%Y-%m-%d %H:%M} UTC"
        f" by {', '.join(edge.users[:3]) or '?'}"
    )
