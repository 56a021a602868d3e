"""PySpark's objects and methods, and the JVM's side of them."""
