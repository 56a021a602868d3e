"""Policies: masking, row access, tags, roles and privileges, enforced inside Spark.

In: statements about them, and every plan that Spark has resolved. Out: plans behind their policies.
"""

from policies.attached import leaks
from policies.leaking import Leak

__all__ = ["Leak", "leaks"]
