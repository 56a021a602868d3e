-- Which functions does the catalog hold, and what do they say? One row for each, and for each dropped one that can be
-- brought back, of which neither body nor signature is known until then.
-- Example:
--   SELECT function_schema, function_name, argument_signature, data_type, function_definition
--   FROM account_usage.functions
--   WHERE deleted IS NULL
CREATE OR REPLACE VIEW {schema}.functions (
  function_id COMMENT 'As objectId in access_history',
  function_name COMMENT 'The name',
  function_schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  function_schema COMMENT 'The schema',
  function_catalog_id COMMENT 'NULL: schemas and catalogs are known by name',
  function_catalog COMMENT 'The catalog',
  function_owner COMMENT 'The role or user of GRANT OWNERSHIP; null for nobody',
  argument_signature COMMENT 'Its parameters with their types: (a int); null for a class',
  data_type COMMENT 'The type that it returns; null for a class',
  character_maximum_length COMMENT 'NULL: data_type has it',
  character_octet_length COMMENT 'NULL: data_type has it',
  numeric_precision COMMENT 'NULL: data_type has it',
  numeric_precision_radix COMMENT 'NULL: data_type has it',
  numeric_scale COMMENT 'NULL: data_type has it',
  function_language COMMENT 'SQL, or JAVA for a class',
  function_definition COMMENT 'The body, or the name of the class',
  volatility COMMENT 'NULL: not measured',
  is_null_call COMMENT 'NULL: not measured',
  created COMMENT 'When it was made (UTC); null for a class',
  last_altered COMMENT 'NULL: ddl_history has it',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  comment COMMENT 'Of the function',
  is_external COMMENT 'NO',
  api_integration COMMENT 'NULL: not of Spark',
  context_headers COMMENT 'NULL: not of Spark',
  max_batch_rows COMMENT 'NULL: not of Spark',
  compression COMMENT 'NULL: not of Spark',
  packages COMMENT 'NULL: not of Spark',
  runtime_version COMMENT 'NULL: not of Spark',
  installed_packages COMMENT 'NULL: not of Spark',
  owner_role_type COMMENT 'NULL: not measured',
  is_memoizable COMMENT 'NULL: not of Spark',
  is_data_metric COMMENT 'NO',
  secrets COMMENT 'NULL: not of Spark',
  external_access_integrations COMMENT 'NULL: not of Spark',
  is_aggregate COMMENT 'NULL: not measured',
  measured_at COMMENT 'When this was found so (UTC); it still was when a text last named a view of the catalog'
) COMMENT 'Functions, dropped ones included' AS
SELECT routine.function_id, routine.function_name, CAST(NULL AS BIGINT) AS function_schema_id,
  routine.function_schema, CAST(NULL AS BIGINT) AS function_catalog_id, routine.function_catalog,
  routine.function_owner, routine.argument_signature, routine.data_type,
  CAST(NULL AS BIGINT) AS character_maximum_length, CAST(NULL AS BIGINT) AS character_octet_length,
  CAST(NULL AS BIGINT) AS numeric_precision, CAST(NULL AS BIGINT) AS numeric_precision_radix,
  CAST(NULL AS BIGINT) AS numeric_scale, routine.function_language, routine.function_definition,
  CAST(NULL AS STRING) AS volatility, CAST(NULL AS STRING) AS is_null_call, routine.created,
  CAST(NULL AS TIMESTAMP) AS last_altered, routine.deleted, routine.comment, 'NO' AS is_external,
  CAST(NULL AS STRING) AS api_integration, CAST(NULL AS STRING) AS context_headers,
  CAST(NULL AS BIGINT) AS max_batch_rows, CAST(NULL AS STRING) AS compression, CAST(NULL AS STRING) AS packages,
  CAST(NULL AS STRING) AS runtime_version, CAST(NULL AS STRING) AS installed_packages,
  CAST(NULL AS STRING) AS owner_role_type, CAST(NULL AS STRING) AS is_memoizable, 'NO' AS is_data_metric,
  CAST(NULL AS STRING) AS secrets, CAST(NULL AS STRING) AS external_access_integrations,
  CAST(NULL AS STRING) AS is_aggregate, measured_at
FROM {schema}.object_catalog
WHERE kind = 'ROUTINE'
