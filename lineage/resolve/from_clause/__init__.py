"""FROM clauses: their items, joins, pivots and table-valued functions, in a scope."""
