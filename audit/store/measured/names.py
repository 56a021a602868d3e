"""The measured tables, and the views that stand on them. No Spark: `audit query` knows them, too."""

from __future__ import annotations

from collections.abc import Mapping

from audit.policies.history import columns
from audit.time_travel.backups import history
from audit.time_travel.retention.storage_names import SCHEMATA, TABLES
from audit.time_travel.retention.storage_names import VIEWS as OF_STORAGE

GOVERNANCE = columns.NAME
"""The Delta table with what was in force when."""
CATALOG = "object_catalog"
"""The Delta table with what the catalog holds."""
BACKUPS = history.NAME
"""The Delta table with all backups, their sets and policies."""
OF_BACKUPS = ("backup_policies", "backup_sets", "backups", "backup_storage_usage")
"""The views over `object_backups`."""
OF_GOVERNANCE = (
    "masking_policies", "row_access_policies", "policy_references", "tags", "tag_references", "roles",
    "users", "grants_to_roles", "grants_to_users", "tagged_data_spread", "dormant_privileges",
)  # fmt: skip
"""The views over `object_governance`."""
OF_CATALOG = (
    "catalog_tables", "columns", "views", "functions", "object_dependencies", "unused_columns",
    "unused_tables", "objects_without_owner",
)  # fmt: skip
"""The views over `object_catalog`. The last two read a view over storage, or over governance, too."""

STANDS_ON: Mapping[str, str] = {
    **dict.fromkeys(OF_STORAGE, TABLES),
    "schemata": SCHEMATA,
    **dict.fromkeys(OF_GOVERNANCE, GOVERNANCE),
    **dict.fromkeys(OF_CATALOG, CATALOG),
    **dict.fromkeys(OF_BACKUPS, BACKUPS),
}
"""The measured table below each view that has one."""
MEASURED = tuple(dict.fromkeys(STANDS_ON.values()))
"""The measured tables."""
