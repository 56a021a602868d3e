"""The commands that look after what Time Travel and Fail-safe keep; each is a file of its own."""
