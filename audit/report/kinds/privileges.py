"""The report `privileges`: who gave rights to whom, who was refused, and who changed the logging.

In: nothing. Out: its figures.
"""

from __future__ import annotations

from audit.report.kinds.records import LOGGING, READ_BY_COMMANDS
from audit.report.kinds.sensitive_data import PROTECTION_CHANGES
from audit.report.kinds.statements import REFUSED, REFUSED_OVER_TIME, USERS
from audit.report.model import Bars, Figure, Kind, Section, Table

GRANTS = Figure(
    "privilege_changes",
    "Changes of privileges and roles",
    "Who granted or revoked which privilege or role, on what, to or from whom?",
    """
SELECT d.query_start_time, d.user_name, s.query_type,
  get_json_object(d.properties, '$.privileges.value') AS privileges,
  d.object_domain, d.object_name,
  CASE WHEN get_json_object(d.properties, '$.to.value') = 'ROLE'
    THEN get_json_object(d.properties, '$.grantee.value') END AS grantee_role,
  CASE WHEN get_json_object(d.properties, '$.to.value') = 'USER'
    THEN get_json_object(d.properties, '$.grantee.value') END AS grantee_user,
  d.query_text
FROM account_usage.ddl_history d
JOIN account_usage.query_history s ON s.query_id = d.query_id AND s.start_time = d.query_start_time
  AND s.query_date = d.query_date
WHERE d.query_date BETWEEN :from_day AND :to_day
  AND (d.object_domain = 'ROLE' OR startswith(s.query_type, 'GRANT') OR startswith(s.query_type, 'REVOKE'))
ORDER BY d.query_start_time DESC, d.object_name, d.query_id
""",
    Table(is_wide=True),
)

_HELD = Figure(
    "privileges_held",
    "Privileges at the end of the period",
    "Which role and which user held which privilege on what when the period ended, and since when?",
    """
SELECT CASE WHEN granted_to = 'ROLE' THEN grantee_name END AS grantee_role,
  CASE WHEN granted_to = 'USER' THEN grantee_name END AS grantee_user,
  privilege, granted_on AS object_domain,
  coalesce(nullif(concat_ws('.', table_catalog, table_schema, name), ''), 'the account') AS object_name,
  grant_option, created_on AS held_since
FROM account_usage.grants_to_roles
WHERE created_on < date_add(:to_day, 1) AND (deleted_on IS NULL OR deleted_on >= date_add(:to_day, 1))
ORDER BY grantee_role, grantee_user, object_name, privilege, held_since
""",
    needs="grants_to_roles",
)

_MEMBERS = Figure(
    "roles_held",
    "Roles of users at the end of the period",
    "Which user had which role when the period ended, and since when?",
    """
SELECT grantee_name AS grantee_user, role AS role_name, created_on AS held_since
FROM account_usage.grants_to_users
WHERE created_on < date_add(:to_day, 1) AND (deleted_on IS NULL OR deleted_on >= date_add(:to_day, 1))
ORDER BY grantee_user, role_name, held_since
""",
    needs="grants_to_users",
)

_GRANTORS = Figure(
    "who_changed_privileges",
    "Who changes privileges",
    "Who issued most statements about privileges and roles?",
    """
SELECT user_name, CASE WHEN execution_status = 'SUCCESS' THEN 'done' ELSE 'refused' END AS outcome,
  count(*) AS statements, sum(count(*)) OVER (PARTITION BY user_name) AS in_all
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day
  AND (startswith(query_type, 'GRANT') OR startswith(query_type, 'REVOKE')
    OR query_type IN ('CREATE_ROLE', 'ALTER_ROLE', 'DROP_ROLE'))
GROUP BY 1, 2
ORDER BY 1, 2
""",
    Bars("user_name", "statements", "outcome", "in_all"),
)

_ROLES = Figure(
    "roles_used",
    "Roles in use",
    "In which roles did each user work?",
    """
SELECT user_name, coalesce(role_name, 'none') AS role_name, count(*) AS statements,
  count_if(execution_status = 'DENIED') AS denied,
  min(start_time) AS first_statement, max(start_time) AS last_statement
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND query_type <> 'GAP'
GROUP BY 1, 2
ORDER BY 1, 2
""",
)

_ACTING = Figure(
    "acting_for",
    "Users of the audit and of the operating system",
    "Which user of the operating system issued statements as which user?",
    """
SELECT os_user, user_name, count(*) AS statements,
  min(start_time) AS first_statement, max(start_time) AS last_statement
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND os_user IS NOT NULL
GROUP BY 1, 2
ORDER BY 1, 2
""",
)

CONFIGURATIONS = Figure(
    "configurations",
    "Configurations",
    "With which settings was recorded, who administered, and how long are records to be kept?",
    """
SELECT get_json_object(details, '$.admins') AS admins,
  get_json_object(details, '$.enforce_privileges') AS enforce_privileges,
  get_json_object(details, '$.on_record_failure') AS on_record_failure,
  get_json_object(details, '$.redact') AS redact,
  get_json_object(details, '$.retention_days') AS retention_days,
  get_json_object(details, '$.retention_by_table') AS retention_by_table,
  count(*) AS sessions, min(event_time) AS first_used, max(event_time) AS last_used
FROM account_usage.logging_history
WHERE query_date BETWEEN :from_day AND :to_day AND event_type = 'AUDIT_ATTACH'
GROUP BY ALL
ORDER BY last_used DESC
""",
)

PRIVILEGES = Kind(
    "privileges",
    "Who may do what",
    "Which role and user held which privilege, each change of a privilege, a role or a policy in the period,"
    " the statements that were refused, and what happened to the logging itself.",
    (
        Section(
            "Who holds what",
            "What GRANT and REVOKE have left. It binds where `enforce privileges` is true: see"
            " Configurations. Whoever creates an object owns it without a GRANT.",
            (_MEMBERS, _HELD),
        ),
        Section("Changes of privileges and roles", "", (_GRANTORS, GRANTS, _ROLES)),
        Section("Policies and tags", "", (PROTECTION_CHANGES,)),
        Section("Refused", "", (REFUSED_OVER_TIME, REFUSED)),
        Section(
            "Users",
            "A user is new whose first statement on record is in the period.",
            (USERS, _ACTING),
        ),
        Section(
            "The logging",
            "A session is recorded from AUDIT_ATTACH to AUDIT_DETACH; between AUDIT_SUPPRESS and"
            " AUDIT_RESUME a thread is not.",
            (CONFIGURATIONS, READ_BY_COMMANDS, LOGGING),
        ),
    ),
)
