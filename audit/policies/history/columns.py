"""The columns of `object_governance`, the table below the views of governance.

In: nothing. Out: names, types of Spark's SQL, comments. A row is of one kind and has the struct of that kind.
One table holds all kinds, so that one commit writes them and all views show the same moment.
"""

from __future__ import annotations

NAME = "object_governance"
"""The table, beside the audit tables."""

_OWNER = "owner_role_type: STRING"
_POLICY = (
    "policy_name: STRING, policy_id: BIGINT, policy_schema: STRING, policy_catalog: STRING,"
    " policy_owner: STRING, policy_signature: STRING, policy_return_type: STRING, policy_body: STRING,"
    f" policy_comment: STRING, last_altered: TIMESTAMP, {_OWNER}, policy_kind: STRING, policy_version: INT,"
    " is_function: BOOLEAN"
)
_POLICY_USE = (
    "policy_db: STRING, policy_schema: STRING, policy_id: BIGINT, policy_name: STRING, policy_kind: STRING,"
    " ref_database_name: STRING, ref_schema_name: STRING, ref_entity_name: STRING, ref_entity_domain: STRING,"
    " ref_column_name: STRING, ref_arg_column_names: ARRAY<STRING>, tag_database: STRING, tag_schema: STRING,"
    " tag_name: STRING, ref_entity_id: BIGINT"
)
_TAG = (
    "tag_id: BIGINT, tag_name: STRING, tag_schema: STRING, tag_database: STRING, tag_owner: STRING,"
    f" tag_comment: STRING, last_altered: TIMESTAMP, allowed_values: ARRAY<STRING>, {_OWNER}"
)
_TAG_USE = (
    "tag_database: STRING, tag_schema: STRING, tag_id: BIGINT, tag_name: STRING, tag_value: STRING,"
    " object_database: STRING, object_schema: STRING, object_id: BIGINT, object_name: STRING, domain: STRING,"
    " column_id: BIGINT, column_name: STRING"
)
_ROLE = f"role_id: BIGINT, name: STRING, comment: STRING, owner: STRING, {_OWNER}"
_PRIVILEGE = (
    "privilege: STRING, granted_on: STRING, name: STRING, table_catalog: STRING, table_schema: STRING,"
    " granted_to: STRING, grantee_name: STRING, grant_option: BOOLEAN, granted_by: STRING,"
    " granted_by_role_type: STRING, object_id: BIGINT"
)

COLUMNS = (
    ("kind", "STRING", "POLICY, POLICY_USE, TAG, TAG_USE, ROLE or PRIVILEGE"),
    ("created_on", "TIMESTAMP", "Since when it holds (UTC)"),
    ("deleted_on", "TIMESTAMP", "Until when it held (UTC); null for what still does"),
    ("policy", f"STRUCT<{_POLICY}>", "Of a masking policy or a row access policy"),
    ("policy_use", f"STRUCT<{_POLICY_USE}>", "Of a policy on an object or a column"),
    ("tag", f"STRUCT<{_TAG}>", "Of a tag"),
    ("tag_use", f"STRUCT<{_TAG_USE}>", "Of a tag on an object or a column"),
    ("role", f"STRUCT<{_ROLE}>", "Of a role"),
    ("privilege", f"STRUCT<{_PRIVILEGE}>", "Of a privilege that was granted, or of a role to somebody"),
)
"""Name, type and meaning of each."""
