"""The plan engine: Spark's analyzed plan, as JSON, into the same `Access` as the text engine gives."""

from lineage.plan.engine import analyze_plan
from lineage.plan.facts import Leaf, PlanFacts

__all__ = ["Leaf", "PlanFacts", "analyze_plan"]
