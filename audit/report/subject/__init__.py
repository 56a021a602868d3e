"""Which statements could have read the row of one person (GDPR, article 15).

In: a key such as `customer_id = 7`, and the tables that have its column. Out: each statement that read such a
table in the period, and what its replay says: it read the row, it could not, it may have. The replay looks
into the files of the version that the statement read, and evaluates the statement's own condition, where that
is made of plain comparisons. It never says more than that. The key's value goes into no audit table.
"""
