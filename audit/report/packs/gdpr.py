"""GDPR article 30: records of processing activities.

In: nothing. Out: the pack.
"""

from __future__ import annotations

from audit.report.model import Pack, Requirement

GDPR = Pack(
    "gdpr-30",
    "GDPR, article 30",
    "Paragraph 1, the records of a controller: what these records know of “processing activities”."
    " The rest is filled in by the controller. Employees' names are normally not owed: --without-names leaves"
    " them out.",
    "Article",
    (
        Requirement(
            "30(1)(a)",
            "“the name and contact details of the controller”, where applicable of the joint"
            " controller, of its representative and the data protection officer",
            "To be filled in: no record knows them.",
            (),
        ),
        Requirement(
            "30(1)(b)",
            "“the purposes of the processing”",
            "What sessions and programs have told: audit.purpose and audit.query_tag.",
            ("purposes",),
        ),
        Requirement(
            "30(1)(c)",
            "“a description of the categories of data subjects and of the categories of personal data”",
            "What policies protect and what was read of it. The categories are to be filled in.",
            (
                "protected_data", "protected_data_readers", "protected_data_shown", "policies_hit",
                "protected_reads_over_time", "protected_reads_by_hour", "read_without_its_policy",
                "who_read_what", "reads_over_time", "top_objects", "top_readers", "objects_by_hour",
                "readers_by_hour",
            ),
        ),
        Requirement(
            "30(1)(d), (e)",
            "the categories of recipients, and transfers to third countries or international organisations,"
            " with their identification and, where article 49(1) asks for them, the safeguards",
            "Where data went: into which tables, and out into which files. Who fetches a file is known to"
            " the store alone.",
            (
                "written_to_files", "protected_data_copied", "flow", "sources_of_tables",
                "sources_of_columns", "loaded_from_files",
            ),
        ),
        Requirement(
            "30(1)(f)",
            "“where possible, the envisaged time limits for erasure of the different categories of data”",
            "How long tables keep their past, what was deleted, and how far back the records go.",
            (
                "retention_of_tables", "storage_by_state", "storage_by_table", "deletions", "brought_back",
                "records_kept", "lineage_kept", "deleted_in_numbers", "deleted_by_retention",
                "days_without_a_statement", "statements_over_time",
            ),
        ),
        Requirement(
            "30(1)(g)",
            "“where possible, a general description of the technical and organisational security measures"
            " referred to in Article 32(1)”",
            "Rights, policies, refusals, and how surely all of it is on record.",
            (
                "privileges_held", "roles_held",
                "protection_changes", "privilege_changes", "who_changed_privileges", "roles_used", "users",
                "acting_for", "failed_and_denied_over_time", "failed_and_denied", "configurations",
                "statements_on_record", "coverage", "integrity", "gaps", "verifications",
                "logging_event_counts", "logging_events", "audit_tables_read",
            ),
        ),
    ),
)  # fmt: skip
