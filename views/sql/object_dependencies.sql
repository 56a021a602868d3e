-- Which views hang on which tables and views? One row for each view and each object that its text names; what it reads
-- through another view is a row of that view.
-- Example:
--   SELECT referencing_schema, referencing_object_name, referenced_schema, referenced_object_name
--   FROM account_usage.object_dependencies
--   ORDER BY referenced_schema, referenced_object_name
CREATE OR REPLACE VIEW {schema}.object_dependencies (
  referenced_database COMMENT 'The catalog of what is read; null for a path',
  referenced_schema COMMENT 'Its schema; null for a path',
  referenced_object_name COMMENT 'Its name, or the path',
  referenced_object_id COMMENT 'As objectId in access_history; null for what is not there, or in another catalog',
  referenced_object_domain COMMENT 'TABLE or VIEW, STAGE for a path; null for what is not there, or in another catalog',
  referencing_database COMMENT 'The catalog of the view',
  referencing_schema COMMENT 'Its schema',
  referencing_object_name COMMENT 'Its name',
  referencing_object_id COMMENT 'As objectId in access_history',
  referencing_object_domain COMMENT 'VIEW',
  dependency_type COMMENT 'BY_NAME: the text of a view keeps names',
  measured_at COMMENT 'When this was found so (UTC); it still was when a text last named a view of the catalog'
) COMMENT 'Views and what they read by name' AS
SELECT dependency.referenced_database, dependency.referenced_schema, dependency.referenced_object_name,
  dependency.referenced_object_id, dependency.referenced_object_domain, dependency.referencing_database,
  dependency.referencing_schema, dependency.referencing_object_name, dependency.referencing_object_id,
  dependency.referencing_object_domain, dependency.dependency_type, measured_at
FROM {schema}.object_catalog
WHERE kind = 'DEPENDENCY'
