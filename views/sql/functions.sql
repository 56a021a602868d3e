-- Which functions does the catalog hold, and what do they say? One row for each, and for each dropped one that can be
-- brought back, of which neither body nor signature is known until then.
-- Example:
--   SELECT function_schema, function_name, argument_signature, data_type, function_definition
--   FROM account_usage.functions
--   WHERE deleted IS NULL
CREATE OR REPLACE VIEW {schema}.functions (
  function_id COMMENT 'As objectId in access_history',
  function_name COMMENT 'The name',
  function_schema COMMENT 'The schema',
  function_catalog COMMENT 'The catalog',
  function_owner COMMENT 'The role or user of GRANT OWNERSHIP; null for nobody',
  argument_signature COMMENT 'Its parameters with their types: (a int); null for a class',
  data_type COMMENT 'The type that it returns; null for a class',
  function_language COMMENT 'SQL, or JAVA for a class',
  function_definition COMMENT 'The body, or the name of the class',
  created COMMENT 'When it was made (UTC); null for a class',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  comment COMMENT 'Of the function',
  measured_at COMMENT 'When this was found so (UTC); it still was when a text last named a view of the catalog'
) COMMENT 'Functions, dropped ones included' AS
SELECT routine.function_id, routine.function_name, routine.function_schema, routine.function_catalog,
  routine.function_owner, routine.argument_signature, routine.data_type, routine.function_language,
  routine.function_definition, routine.created, routine.deleted, routine.comment, measured_at
FROM {schema}.object_catalog
WHERE kind = 'ROUTINE'
