"""The lineage graph across statements: rows of the lineage tables in, a `LineageGraph` out; no Spark."""

from audit.graph.model import Direction, Edge, LineageDiff, LineageGraph, Node, diff
from audit.graph.question import Question, answer, moment

__all__ = ["Direction", "Edge", "LineageDiff", "LineageGraph", "Node", "Question", "answer", "diff", "moment"]
