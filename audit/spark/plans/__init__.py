"""Executions and plans of Spark, read out of the JVM."""
