"""The lineage graph across statements: rows of the lineage tables in, a `LineageGraph` out; no Spark."""

from audit.graph.lineage_graph import LineageDiff, LineageGraph, diff
from audit.graph.model import Direction, Edge, Node
from audit.graph.question import Question, answer, parse_as_of

__all__ = [
    "Direction",
    "Edge",
    "LineageDiff",
    "LineageGraph",
    "Node",
    "Question",
    "answer",
    "diff",
    "parse_as_of",
]
