"""Policies: masking, row access and roles, enforced inside Spark.

In: statements about them, and every plan that Spark has resolved. Out: plans behind their policies.
"""
