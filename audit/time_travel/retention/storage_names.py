"""The names of what storage is measured into. Nothing is imported: commands without Spark know them, too."""

from __future__ import annotations

TABLES = "object_storage"
"""The Delta table with a row for each table."""
SCHEMATA = "object_schemata"
"""The Delta table with a row for each schema."""
VIEWS = ("tables", "schemata", "table_storage_metrics", "table_storage")
"""The views that read them."""
