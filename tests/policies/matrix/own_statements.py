"""Statements of this project by their types: what each offers, tried on a protected object.

The words in braces are those of `statements`. Steps of one way stand between `;;`, the last one shows.
"""

from __future__ import annotations

_SEEN = "SELECT * FROM {t}"
_SHOWS_ALL = "MASKING POLICY play.all AS (v STRING) RETURNS STRING -> v"
_EVERY_ROW = "GRANT TO ('allAuthenticatedUsers') FILTER USING (TRUE)"


def _then_seen(*texts: str) -> list[str]:
    return [f"{text} ;; {_SEEN}" for text in texts]


OWN_STATEMENTS: dict[str, list[str]] = {
    "PolicyChange": _then_seen(
        "ALTER MASKING POLICY prot.hush SET BODY -> v",
        "ALTER MASKING POLICY prot.hush RENAME TO prot.other",
        "ALTER ROW ACCESS POLICY prot.near SET BODY -> true",
        "CREATE OR REPLACE MASKING POLICY prot.hush AS (v STRING) RETURNS STRING -> v",
        "CREATE OR REPLACE ROW ACCESS POLICY prot.by_map AS (r STRING) RETURNS BOOLEAN -> true",
        f"CREATE {_SHOWS_ALL} ;; ALTER TABLE {{t}} ALTER COLUMN name SET MASKING POLICY play.all FORCE",
        "DROP MASKING POLICY prot.hush",
        "DROP ROW ACCESS POLICY prot.near",
        "DROP ROW ACCESS POLICY prot.by_map",
    ),
    "TablePolicyChange": _then_seen(
        f"CREATE ROW ACCESS POLICY every ON {{t}} {_EVERY_ROW}",
        f"CREATE OR REPLACE ROW ACCESS POLICY near ON {{t}} {_EVERY_ROW}",
        "DROP ROW ACCESS POLICY near ON {t}",
    ),
    "SetPolicies": _then_seen(
        "DROP ALL ROW ACCESS POLICIES ON {t}",
        "ALTER TABLE {t} ALTER COLUMN name UNSET MASKING POLICY",
        "ALTER TABLE {t} ALTER COLUMN name UNSET TAG prot.pii",
        "ALTER TABLE {t} ALTER COLUMN name SET TAG prot.pii = 'low'",
        "ALTER TABLE {t} DROP ALL ROW ACCESS POLICIES",
        "ALTER TABLE {t} DROP ROW ACCESS POLICY prot.near",
        "DROP ALL ROW ACCESS POLICIES ON {t} ;; BEGIN DROP ALL ROW ACCESS POLICIES ON {t}; END",
        "ALTER TABLE {t} ALTER COLUMN name SET MASK upper",
        "ALTER TABLE {t} DROP ROW FILTER",
        "ALTER VIEW {t} ALTER COLUMN name UNSET MASKING POLICY",
    ),
    "TagChange": _then_seen(
        "ALTER TAG prot.pii UNSET MASKING POLICY prot.hush",
        "ALTER TAG prot.pii RENAME TO prot.other",
        "CREATE OR REPLACE TAG prot.pii",
        "DROP TAG prot.pii",
    ),
    "RoleChange": _then_seen(
        "CREATE ROLE mine ;; GRANT ROLE hr TO ROLE mine ;; GRANT ROLE mine TO USER mallory",
        "CREATE OR REPLACE ROLE hr ;; GRANT ROLE hr TO USER mallory ;; GRANT ROLE hr TO USER eve",
        "DROP ROLE hr ;; CREATE ROLE hr ;; GRANT ROLE hr TO USER mallory ;; GRANT ROLE hr TO USER eve",
        "GRANT ROLE hr TO USER mallory ;; GRANT ROLE hr TO USER eve",
        "GRANT ROLE accountadmin TO USER mallory ;; GRANT ROLE accountadmin TO USER eve",
        "GRANT ROLE hr TO ROLE public",
        "REVOKE ROLE hr FROM USER ann",
        "GRANT ROLE hr TO USER eve ;; BEGIN GRANT ROLE hr TO USER mallory; END",
        "GRANT ROLE hr TO USER eve ;; EXECUTE IMMEDIATE 'GRANT ROLE hr TO USER mallory'",
    ),
    "UseRole": _then_seen("USE ROLE hr", "USE ROLE accountadmin", "USE ROLE `HR`"),
    "PrivilegeChange": _then_seen(
        "GRANT OWNERSHIP ON TABLE {t} TO USER mallory",
        "GRANT OWNERSHIP ON MASKING POLICY prot.hush TO USER eve",
        "GRANT APPLY MASKING POLICY ON ACCOUNT TO USER mallory",
        "REVOKE SELECT ON TABLE {t} FROM USER ann",
    ),
    "ShowGovernance": [
        "SHOW MASKING POLICIES IN SCHEMA prot",
        "SHOW TAGS IN SCHEMA prot",
        "DESCRIBE ROW ACCESS POLICY prot.by_map",
    ],
    "ShowGrants": ["SHOW GRANTS ON TABLE {t}", "SHOW GRANTS OF ROLE hr"],
    "AlterRetention": [
        "ALTER TABLE {t} SET DATA_RETENTION_TIME_IN_DAYS = 0 ;; DROP TABLE {t}",
        "ALTER SCHEMA prot SET DATA_RETENTION_TIME_IN_DAYS = 0 ;; DROP TABLE {t}",
        "ALTER ACCOUNT SET DATA_RETENTION_TIME_IN_DAYS = 0 ;; DROP SCHEMA prot CASCADE",
        "ALTER SCHEMA prot SET OPTIONS (MAX_TIME_TRAVEL_HOURS = 48) ;; SELECT * FROM {t} AT (OFFSET => 0)",
    ],
    "CloneSchema": ["CREATE SCHEMA {schema} CLONE prot ;; SELECT * FROM {schema}.{bare}"],
    "CloneTable": [
        "CREATE TABLE {new} CLONE {t}",
        "CREATE TABLE {new} CLONE {t} AT (OFFSET => 0)",
        "CREATE TABLE {new} DEEP CLONE {t} VERSION AS OF 0",
        "CREATE OR REPLACE TABLE {t} CLONE {own}",
        "CREATE TABLE {new} SHALLOW CLONE delta.`{place}`",
    ],
    "CreateSchema": [
        (
            "CREATE SCHEMA {schema} DATA_RETENTION_TIME_IN_DAYS = 0 LOCATION '{above}'"
            " ;; DROP SCHEMA {schema} CASCADE"
        )
    ],
    "CreateTable": [
        "CREATE TRANSIENT TABLE {new} AS SELECT * FROM {t}",
        "CREATE TABLE {t} (id INT) DATA_RETENTION_TIME_IN_DAYS = 0",
        "CREATE OR REPLACE TABLE {t} (id INT) DATA_RETENTION_TIME_IN_DAYS = 0",
        "CREATE TABLE {new} (id INT) USING delta LOCATION '{place}' DATA_RETENTION_TIME_IN_DAYS = 0",
    ],
    "Drop": [
        "DROP TABLE {t} PURGE",
        "DROP TABLE {t} ;; SELECT * FROM parquet.`{place}`",
        "DROP TABLE {t} ;; SELECT * FROM delta.`{place}`",
        "DROP TABLE {t} ;; CREATE TABLE {new} USING delta LOCATION '{place}'",
        "DROP VIEW prot.areas ;; CREATE VIEW prot.areas AS SELECT 'us' AS area ;; SELECT * FROM {t}",
        "DROP TABLE prot.map ;; CREATE TABLE prot.map AS SELECT 'us' AS area ;; SELECT * FROM {t}",
        "DROP SCHEMA prot CASCADE",
    ],
    "StatementChain": [
        "SHOW TABLES HISTORY IN prot ->> SELECT * FROM $1",
        "DESCRIBE HISTORY {t} ->> SELECT * FROM $1",
    ],
    "Restore": [
        "RESTORE TABLE {t} TO AT (OFFSET => 0)",
        "RESTORE TABLE {own} TO VERSION AS OF 0 ;; SELECT * FROM {own}",
    ],
    "ShowObjects": ["SHOW TABLES HISTORY IN prot", "SHOW SCHEMAS HISTORY"],
    "ShowParameters": ["SHOW PARAMETERS IN TABLE {t}"],
    "Undrop": ["UNDROP TABLE {t}", "UNDROP SCHEMA prot"],
    "Vacuum": [
        "VACUUM {t} RETAIN 0 HOURS",
        "VACUUM {t} RETAIN 0 HOURS DRY RUN",
        "VACUUM delta.`{place}` RETAIN 0 HOURS",
    ],
    "COPY": [
        "COPY INTO {own} FROM '{place}' FILE_FORMAT = (TYPE = PARQUET)",
        "COPY INTO {own} FROM '{place}/_delta_log' FILE_FORMAT = (TYPE = JSON)",
    ],
    "UNLOAD": [
        "COPY INTO '{out}' FROM (SELECT * FROM {t}) FILE_FORMAT = (TYPE = CSV)",
        "COPY INTO '{out}' FROM {t} FILE_FORMAT = (TYPE = PARQUET)",
        "COPY INTO '{place}' FROM {own} FILE_FORMAT = (TYPE = PARQUET) OVERWRITE = TRUE",
    ],
}
"""By the name of the type; COPY INTO, which has none, by what it is on record."""
