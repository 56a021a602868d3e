"""Statements sent to a receiver of OpenLineage as they are recorded.

In: the audit tables, a ledger of what was sent. Out: events, at a URL or in a file. The tables are the queue:
whatever the receiver misses waits there, so that nothing is dropped, and no statement waits for it.
"""
