-- Which checks of a table have failed, and which statement wrote what they found? One row for each expectation of each
-- validation of a table by audit.expect, beside the statement that wrote the version which was validated. It is there
-- once a table has been validated.
-- Example:
--   SELECT object_name, expectation_name, unexpected_count, written_by_user, written_by_text
--   FROM account_usage.data_quality
--   WHERE is_newest AND outcome = 'FAILED'
CREATE OR REPLACE VIEW {schema}.data_quality (
  run_time COMMENT 'When the validation began (UTC)',
  query_date COMMENT 'The day (UTC): the partition of data_quality_results',
  run_id COMMENT 'The validation: its rows share it',
  user_name COMMENT 'Who validated: the policies that hold for him have been in force',
  object_name COMMENT 'catalog.schema.object',
  object_id COMMENT 'Survives a rename',
  object_domain COMMENT 'Table, VIEW, ...',
  object_version COMMENT 'The Delta version that was validated; null for a view',
  is_newest COMMENT 'The newest answer to this expectation: of later versions, and of later validations of one version, there is none',
  suite_name COMMENT 'The suite of Great Expectations',
  expectation_name COMMENT 'What the suite calls it, else its type with its column',
  expectation_type COMMENT 'expect_column_values_to_not_be_null, ...',
  column_name COMMENT 'The column that it is about; null for several, or the whole table',
  description COMMENT 'What is expected, where the suite says it',
  arguments COMMENT 'JSON: what the expectation was given',
  severity COMMENT 'critical, warning or info',
  outcome COMMENT 'PASSED, FAILED, or ERROR where it could not be asked',
  element_count COMMENT 'Rows that were looked at, where the expectation counts them',
  unexpected_count COMMENT 'Rows that are not as expected, where it counts them',
  unexpected_percent COMMENT 'Their percentage',
  error_message COMMENT 'Why it could not be asked',
  written_by_query_id COMMENT 'The statement that wrote the version; null where its commit names none',
  written_at COMMENT 'When that statement started (UTC)',
  written_by_user COMMENT 'Who issued it',
  written_by_query_type COMMENT 'INSERT, MERGE, ...',
  written_by_text COMMENT 'The statement'
) COMMENT 'Data quality: one row for each expectation of a validation' AS
SELECT r.run_time, r.query_date, r.run_id, r.user_name, r.object_name, r.object_id, r.object_domain,
  r.object_version,
  row_number() OVER (
    PARTITION BY r.object_id, r.suite_name, r.expectation_name, r.arguments
    ORDER BY r.object_version DESC, r.run_time DESC) = 1 AS is_newest,
  r.suite_name, r.expectation_name, r.expectation_type, r.column_name, r.description, r.arguments,
  r.severity, r.outcome, r.element_count, r.unexpected_count, r.unexpected_percent, r.error_message,
  r.query_id, q.start_time, q.user_name, q.query_type, q.query_text
FROM {schema}.data_quality_results r
LEFT JOIN {schema}.query_history q ON q.query_id = r.query_id
