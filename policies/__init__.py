"""Policies: masking, row access, tags, roles and privileges, enforced inside Spark.

In: statements about them, and every plan that Spark has resolved. Out: plans behind their policies.
"""

from policies.attached import leaks, references
from policies.leaking import Leak
from policies.referring import Reference

__all__ = ["Leak", "Reference", "leaks", "references"]
