"""PCI DSS 4.0.1, requirement 10: log and monitor all access.

In: nothing. Out: the pack.
"""

from __future__ import annotations

from audit.report.model import Pack, Requirement

PCI_DSS = Pack(
    "pci-dss-10",
    "PCI DSS 4.0.1, requirement 10",
    "“Log and Monitor All Access to System Components and Cardholder Data.” The figures are about"
    " statements that sessions of Spark issued; logs of hosts, networks and identity providers are other"
    " evidence. Data counts as cardholder data where a policy protects it.",
    "Requirement",
    (
        Requirement(
            "10.2.1",
            "“Audit logs are enabled and active for all system components and cardholder data.”",
            "Recording is active between attach and detach. A gap is a time in which it was not.",
            (
                "statements_on_record", "coverage", "logging_event_counts", "gaps", "configurations",
                "statements_over_time",
            ),
        ),
        Requirement(
            "10.2.1.1",
            "“Audit logs capture all individual user access to cardholder data.”",
            "Reads of what policies protect, by user and statement; then all reads.",
            (
                "protected_data", "protected_data_readers", "protected_data_shown",
                "read_without_its_policy", "protected_reads_over_time", "protected_reads_by_hour",
                "policies_hit", "protected_data_copied", "who_read_what", "reads_over_time", "top_readers",
                "top_objects", "readers_by_hour", "objects_by_hour", "written_to_files", "purposes",
            ),
        ),
        Requirement(
            "10.2.1.2",
            "“Audit logs capture all actions taken by any individual with administrative access …”",
            "Who administers is a setting; changes of data and definitions show by whom they were made.",
            (
                "roles_used", "acting_for", "data_changes", "who_changed_what", "changes_over_time",
                "most_changed", "protection_changes",
            ),
        ),
        Requirement(
            "10.2.1.3",
            "“Audit logs capture all access to audit logs.”",
            "Who asked the tables by commands, and what was done to the logging itself. A session of Spark"
            " that reads the tables is on record as any reader. Who opens their files by another program is"
            " known to the store alone.",
            ("audit_tables_read", "logging_events"),
        ),
        Requirement(
            "10.2.1.4",
            "“Audit logs capture all invalid logical access attempts.”",
            "Statements that were denied, and those that failed.",
            ("failed_and_denied_over_time", "failed_and_denied", "changes_refused"),
        ),
        Requirement(
            "10.2.1.5",
            "“Audit logs capture all changes to identification and authentication credentials …”",
            "Privileges and roles are granted in Spark and are here; accounts and passwords are the"
            " identity provider's.",
            ("privileges_held", "roles_held", "privilege_changes", "who_changed_privileges", "users"),
        ),
        Requirement(
            "10.2.1.6",
            "All initialization of new audit logs, and all starting, stopping or pausing of existing ones,"
            " are on record.",
            "AUDIT_ATTACH starts, AUDIT_DETACH ends, AUDIT_SUPPRESS pauses, AUDIT_RESUME goes on.",
            ("logging_event_counts", "logging_events"),
        ),
        Requirement(
            "10.2.1.7",
            "“Audit logs capture all creation and deletion of system-level objects.”",
            "Tables, views, schemas, functions, policies, tags and roles.",
            ("definition_changes", "deletions", "brought_back"),
        ),
        Requirement(
            "10.2.2",
            "Each event has its user, type, date and time, success or failure, origination, and the data,"
            " system component, resource or service affected.",
            "Each statement on record has them; the sample shows whole ones.",
            ("origins", "sample"),
        ),
        Requirement(
            "10.3.1",
            "“Read access to audit logs files is limited to those with a job-related need.”",
            "The rights of the file system and of the store say who may read the files; these figures say who"
            " did by commands.",
            ("audit_tables_read",),
        ),
        Requirement(
            "10.3.4",
            "File integrity monitoring or change detection makes sure that existing log data “cannot be"
            " changed without generating alerts”.",
            "Each record has a hash; `audit verify` compares all of them.",
            ("integrity", "verifications"),
        ),
        Requirement(
            "10.4.1",
            "Audit logs of security events, of components with account data, of critical components and of"
            " those with security functions are reviewed at least once daily.",
            "Who reviewed, and when, is for the reviewer to sign: the last lines of the cover.",
            (),
        ),
        Requirement(
            "10.5.1",
            "“Retain audit log history for at least 12 months …”, at least the most recent three at once"
            " available.",
            "How far back the tables go, and what retention has deleted.",
            (
                "records_kept", "lineage_kept", "days_without_a_statement", "deleted_in_numbers",
                "deleted_by_retention", "storage_by_state", "storage_by_table", "retention_of_tables",
            ),
        ),
        Requirement(
            "10.7.2",
            "Failures of critical security control systems, audit logging among them, are detected, alerted"
            " and addressed promptly.",
            "Times with lost records, drivers that died, and what could not be analysed. Alerts are the"
            " monitoring system's.",
            ("gaps", "integrity", "incomplete_statements", "not_analysed_in_full"),
        ),
    ),
)  # fmt: skip
