"""The report `subject "column = value"`: the statements that could have read the row of one person.

In: nothing. Out: its figures. Some of them have rows that the replay works out (`audit.report.subject`) from
the answer of their query.
"""

from __future__ import annotations

from audit.report.model import Figure, KeyFigures, Kind, Section, Table
from audit.report.subject.statement import READINGS

_REPLAYED = (
    "The query gives all statements that read one of the tables. The replay has chosen from them, and says"
    " why. Its columns are its own: `version` is that of the table that the statement read, `masked` names"
    " the columns whose values a policy changed for this reader."
)

SUMMARY = Figure(
    "subject_summary",
    "In numbers",
    "How many statements read the tables in the period, and how many of them read the row?",
    READINGS,
    KeyFigures(),
    worked_out="The replay has counted its answers: one for each statement and table.",
)

READ = Figure(
    "subject_read",
    "The row was read",
    "Which statements read the row, when, what for, and which columns of the table?",
    READINGS,
    Table(is_wide=True),
    worked_out=_REPLAYED,
)

MAY_HAVE_READ = Figure(
    "subject_may_have_read",
    "The row may have been read",
    "Which statements may have read the row, and why does nobody know?",
    READINGS,
    Table(is_wide=True),
    worked_out=_REPLAYED,
)

COULD_NOT = Figure(
    "subject_not_read",
    "The row was not read",
    "Which statements read the tables, and could not have read the row?",
    READINGS,
    Table(is_wide=True),
    worked_out=_REPLAYED,
)

_UNKNOWN = Figure(
    "subject_unknown",
    "Statements of which it is not known what they read",
    "Which statements were not analysed in full, have no end, or still run?",
    """
SELECT start_time, query_type, execution_status, analysis, purpose, query_tag, user_name, query_id
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND query_type <> 'GAP'
  AND (analysis <> 'full' OR execution_status IN ('INCOMPLETE', 'RUNNING'))
ORDER BY start_time DESC, query_id
""",
)

_COPIES = Figure(
    "subject_copies",
    "Where the tables' data went",
    "Into which tables and files did statements write values of these tables?",
    """
SELECT source_object_name, object_name AS written_to, object_domain,
  array_join(sort_array(collect_set(column_name)), ', ') AS columns,
  count(DISTINCT query_id) AS statements, max(query_start_time) AS last_written
FROM account_usage.columns_written
WHERE query_date BETWEEN :from_day AND :to_day AND source_object_id IN :object_ids
  AND NOT object_id IN :object_ids
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
""",
)

SUBJECT = Kind(
    "subject",
    "Consultations of the row where {name}",
    "Which statements could have read this row, at which dates and for which purposes (GDPR, article 15)."
    " The replay looks for the row in the version of the table that each statement read, and at the"
    " statement's own condition. The key is compared as it is written: another spelling is another row.",
    (
        Section("Overview", "", (SUMMARY,)),
        Section(
            "Read",
            "The version had the row, and nothing in the statement left it out. What the statement made of it"
            " is not said here: it may have shown, counted or copied it.",
            (READ,),
        ),
        Section(
            "May have read",
            "The record or the files do not decide it. A statement is here as long as it is not shown that it"
            " could not have read the row.",
            (MAY_HAVE_READ, _UNKNOWN),
        ),
        Section(
            "Not read",
            "The version had no such row, or the statement's own condition left it out. Statements that"
            " failed or were denied gave no result, and are in none of these figures.",
            (COULD_NOT,),
        ),
        Section(
            "Copies",
            "A copy of the row is another row: name its table, too, if it has the key.",
            (_COPIES,),
        ),
    ),
)
