"""Time Travel against a model: random operations, and what the documents promise after each of them."""
