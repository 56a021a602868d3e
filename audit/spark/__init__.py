"""The only package that knows Py4J, PySpark's private names and Delta's log."""
