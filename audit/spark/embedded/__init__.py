"""The Spark that comes with the project: Java, Delta's jars, one driver a root."""
