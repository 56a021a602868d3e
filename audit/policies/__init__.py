"""Policies: masking, row access, tags, roles and privileges, enforced inside Spark.

In: statements about them, and every plan that Spark has resolved. Out: plans behind their policies.
"""

from audit.policies.attached import leaks, references
from audit.policies.model.leaks import Leak
from audit.policies.model.policy_references import Reference

__all__ = ["Leak", "Reference", "leaks", "references"]
