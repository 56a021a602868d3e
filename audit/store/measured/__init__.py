"""What is measured rather than recorded: governance as rows, and what the catalog holds.

In: the services of a root. Out: the Delta tables below the views of governance and of the catalog.
"""
