"""The plan engine: Spark's analyzed plan, as JSON, into the same `Access` as the text engine gives."""

from lineage.plan.engine import analyze_plan
from lineage.plan.facts import ColumnChange, Leaf, PlanFacts, Target
from lineage.plan.tree import PlanJsonError

__all__ = ["ColumnChange", "Leaf", "PlanFacts", "PlanJsonError", "Target", "analyze_plan"]
