"""Statements as events of OpenLineage 2-0-2.

In: a recorded statement, what the catalog says. Out: its START, and its COMPLETE, FAIL or ABORT.
"""
