"""The names of what storage is measured into. Nothing is imported: commands without Spark know them, too."""

from __future__ import annotations

TABLES = "object_storage"
"""The Delta table with a row for each table."""
SCHEMATA = "object_schemata"
"""The Delta table with a row for each schema."""
VIEWS = ("schemata", "table_storage", "table_storage_metrics", "tables")
"""The views that read them."""
