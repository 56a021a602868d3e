"""Sarbanes-Oxley Act: controls over the data of financial reports.

In: nothing. Out: the pack. The act does not number controls of information technology. Auditors sort general
controls by program changes, access to programs and data, and computer operations (PCAOB AS 2201, B29), and so
does this pack; that data has a subject of its own is its own choice.
"""

from __future__ import annotations

from audit.report.model import Pack, Requirement

SOX = Pack(
    "sox",
    "Sarbanes-Oxley Act",
    "Evidence for general controls of information technology. The act names no such control: section 404"
    " asks that management assess its internal control over financial reporting. Under it are three subjects"
    " by which auditors sort general controls (PCAOB AS 2201, B29), and changes of data. Which tables feed"
    " financial reports is for the reader to say.",
    "Section",
    (
        Requirement(
            "302",
            "Signing officers establish and maintain internal controls, and have evaluated how well they work"
            " within the 90 days before the report.",
            "What this report rests on, and a sample to follow by hand.",
            ("statements_on_record", "coverage", "integrity", "gaps", "verifications", "sample"),
        ),
        Requirement(
            "404, access to programs and data",
            "Only those who are to may read or change what feeds financial reports.",
            "Rights and their changes, what was refused, and who read what.",
            (
                "privileges_held", "roles_held", "privilege_changes", "who_changed_privileges", "roles_used",
                "users", "acting_for",
                "protection_changes", "failed_and_denied_over_time", "failed_and_denied", "changes_refused",
                "who_read_what", "reads_over_time", "top_readers", "top_objects", "readers_by_hour",
                "objects_by_hour", "protected_data", "protected_data_readers", "protected_data_shown",
                "read_without_its_policy", "policies_hit", "protected_reads_over_time",
                "protected_reads_by_hour",
            ),
        ),
        Requirement(
            "404, changes of data",
            "Changes of financial data are authorized, complete, and can be followed.",
            "Each change with its user, its rows and the version that came of it.",
            (
                "changes_over_time", "most_changed", "who_changed_what", "data_changes", "deletions",
                "brought_back", "purposes",
            ),
        ),
        Requirement(
            "404, changes of programs",
            "Changes of the definitions that make up a report are authorized and can be followed.",
            "Tables, views and functions that were created, altered or dropped, and what is made of what.",
            (
                "definition_changes", "flow", "sources_of_tables", "sources_of_columns",
                "loaded_from_files", "written_to_files", "protected_data_copied",
            ),
        ),
        Requirement(
            "404, operations",
            "Jobs run as planned, and failures are noticed.",
            "Where statements came from, which have no end, and how recording went.",
            (
                "origins", "incomplete_statements", "not_analysed_in_full", "statements_over_time",
                "days_without_a_statement", "logging_event_counts", "logging_events", "audit_tables_read",
                "configurations",
            ),
        ),
        Requirement(
            "802; 17 CFR 210.2-06",
            "Records are not altered or destroyed to obstruct an investigation; an accountant keeps the"
            " records of an audit for seven years.",
            "The seven years bind the accountant; how long a company keeps its own is for both to agree on."
            " How far back the tables go, and what retention has deleted.",
            (
                "records_kept", "lineage_kept", "deleted_in_numbers", "deleted_by_retention",
                "storage_by_state", "storage_by_table", "retention_of_tables",
            ),
        ),
    ),
)  # fmt: skip
