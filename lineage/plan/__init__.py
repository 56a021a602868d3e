"""The plan engine: Spark's analyzed plan, as JSON, into the same `Access` as the text engine gives."""

from lineage.plan.engine import analyze_plan
from lineage.plan.facts import Change, Leaf, PlanFacts, Target
from lineage.plan.tree import PlanJsonError

__all__ = ["Change", "Leaf", "PlanFacts", "PlanJsonError", "Target", "analyze_plan"]
