"""HIPAA Security Rule, 45 CFR 164.312(b) and what it rests on.

In: nothing. Out: the pack.
"""

from __future__ import annotations

from audit.report.model import Pack, Requirement

HIPAA = Pack(
    "hipaa-164.312-b",
    "HIPAA Security Rule, 45 CFR 164.312(b)",
    "Audit controls, and what the rule asks for beside them that these records can show. Data"
    " counts as electronic protected health information where a policy protects it.",
    "Section",
    (
        Requirement(
            "164.308(a)(1)(ii)(D)",
            "Information system activity review: “regularly review records of information system activity,"
            " such as audit logs, access reports, and security incident tracking reports.”",
            "Reads of what policies protect, then all reads and changes; the reviewer signs on the cover.",
            (
                "protected_data", "policies_hit", "protected_reads_over_time", "protected_reads_by_hour",
                "protected_data_readers", "protected_data_shown", "read_without_its_policy",
                "protected_data_copied", "who_read_what", "reads_over_time", "top_readers", "top_objects",
                "readers_by_hour", "objects_by_hour", "written_to_files", "purposes", "sample",
            ),
        ),
        Requirement(
            "164.312(a)(1)",
            "Access control: access only for persons or software programs that have been granted access"
            " rights as specified in 164.308(a)(4).",
            "Rights, changes of rights and of policies, and what was refused.",
            (
                "privileges_held", "roles_held", "privilege_changes", "who_changed_privileges", "roles_used",
                "users", "acting_for",
                "protection_changes", "failed_and_denied_over_time", "failed_and_denied",
            ),
        ),
        Requirement(
            "164.312(b)",
            "Audit controls: “mechanisms that record and examine activity in information systems that"
            " contain or use electronic protected health information.”",
            "What is recorded, how surely, and from where it came.",
            (
                "statements_on_record", "coverage", "gaps", "logging_event_counts", "configurations",
                "logging_events", "audit_tables_read", "statements_over_time", "origins",
            ),
        ),
        Requirement(
            "164.312(c)(1)",
            "Integrity: protect electronic protected health information from “improper alteration or"
            " destruction.”",
            "Who changed and deleted data, and whether the records of it are as they were written.",
            (
                "changes_over_time", "most_changed", "who_changed_what", "data_changes", "deletions",
                "brought_back", "definition_changes", "changes_refused", "integrity", "verifications",
            ),
        ),
        Requirement(
            "164.316(b)(2)(i)",
            "Time limit: retain the documentation “for 6 years from the date of its creation or the date when"
            " it last was in effect, whichever is later”.",
            "The rule is about documentation; whether logs are a part of it is for the entity to say. How far"
            " back the tables go, and what retention has deleted.",
            (
                "records_kept", "lineage_kept", "days_without_a_statement", "deleted_in_numbers",
                "deleted_by_retention", "storage_by_state", "storage_by_table", "retention_of_tables",
            ),
        ),
    ),
)  # fmt: skip
