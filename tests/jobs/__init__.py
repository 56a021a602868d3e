"""Documented jobs of PySpark and Delta, run plain and audited: attaching changes nothing but the record."""
