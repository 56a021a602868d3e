"""The history as DataHub's metadata: a file of change proposals, which its file source takes.

In: recorded statements, what the catalog says. Out: one proposal for each aspect of each dataset and tag.
"""
