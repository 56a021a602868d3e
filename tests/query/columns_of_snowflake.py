"""The columns of Snowflake's ACCOUNT_USAGE views, in the order of its pages (read in November 2026).

In: nothing. Out: by view, the names in lower case. Each page is
https://docs.snowflake.com/en/sql-reference/account-usage/<view>.
"""

COLUMNS = {
    "access_history": (
        "query_id query_start_time user_name direct_objects_accessed base_objects_accessed "
        "objects_modified object_modified_by_ddl policies_referenced parent_query_id root_query_id "
        "event_source additional_properties invoker_identity agents_info"
    ),
    "query_history": (
        "query_id query_text database_id database_name schema_id schema_name query_type session_id "
        "authn_event_id user_name role_name warehouse_id warehouse_name warehouse_size warehouse_type "
        "cluster_number query_tag execution_status error_code error_message start_time end_time "
        "total_elapsed_time bytes_scanned percentage_scanned_from_cache bytes_written "
        "bytes_written_to_result bytes_read_from_result rows_produced rows_inserted rows_updated "
        "rows_deleted rows_unloaded bytes_deleted partitions_scanned partitions_total "
        "bytes_spilled_to_local_storage bytes_spilled_to_remote_storage bytes_sent_over_the_network "
        "compilation_time execution_time queued_provisioning_time queued_repair_time queued_overload_time "
        "transaction_blocked_time outbound_data_transfer_cloud outbound_data_transfer_region "
        "outbound_data_transfer_bytes inbound_data_transfer_cloud inbound_data_transfer_region "
        "inbound_data_transfer_bytes list_external_files_time credits_used_cloud_services release_version "
        "external_function_total_invocations external_function_total_sent_rows "
        "external_function_total_received_rows external_function_total_sent_bytes "
        "external_function_total_received_bytes query_load_percent is_client_generated_statement "
        "query_acceleration_bytes_scanned query_acceleration_partitions_scanned "
        "query_acceleration_upper_limit_scale_factor transaction_id child_queries_wait_time role_type "
        "query_hash query_hash_version query_parameterized_hash query_parameterized_hash_version "
        "secondary_role_stats rows_written_to_result query_retry_time query_retry_cause "
        "fault_handling_time user_type user_database_name user_database_id user_schema_name "
        "user_schema_id bind_values agent_type"
    ),
    "aggregate_access_history": (
        "interval_start_time interval_end_time query_parameterized_hash user_name calls "
        "direct_objects_accessed base_objects_accessed objects_modified object_modified_by_ddl "
        "policies_referenced"
    ),
    "aggregate_query_history": (
        "calls interval_start_time interval_end_time query_parameterized_hash query_text database_id "
        "database_name schema_id schema_name query_type session_id user_name role_name role_type "
        "warehouse_id warehouse_name warehouse_size warehouse_type query_tag "
        "is_client_generated_statement release_version errors total_elapsed_time bytes_scanned "
        "percentage_scanned_from_cache bytes_written bytes_written_to_result bytes_read_from_result "
        "rows_produced rows_inserted rows_updated rows_deleted rows_unloaded bytes_deleted "
        "partitions_scanned partitions_total bytes_spilled_to_local_storage "
        "bytes_spilled_to_remote_storage bytes_sent_over_the_network compilation_time execution_time "
        "queued_provisioning_time queued_repair_time queued_overload_time transaction_blocked_time "
        "outbound_data_transfer_cloud outbound_data_transfer_region outbound_data_transfer_bytes "
        "inbound_data_transfer_cloud inbound_data_transfer_region inbound_data_transfer_bytes "
        "list_external_files_time credits_used_cloud_services external_function_total_invocations "
        "external_function_total_sent_rows external_function_total_received_rows "
        "external_function_total_sent_bytes external_function_total_received_bytes query_load_percent "
        "query_acceleration_bytes_scanned query_acceleration_partitions_scanned "
        "query_acceleration_upper_limit_scale_factor child_queries_wait_time "
        "hybrid_table_requests_throttled_count"
    ),
    "object_dependencies": (
        "referenced_database referenced_schema referenced_object_name referenced_object_id "
        "referenced_object_domain referencing_database referencing_schema referencing_object_name "
        "referencing_object_id referencing_object_domain dependency_type"
    ),
    "columns": (
        "column_id column_name table_id table_name table_schema_id table_schema table_catalog_id "
        "table_catalog ordinal_position column_default is_nullable data_type character_maximum_length "
        "character_octet_length numeric_precision numeric_precision_radix numeric_scale "
        "datetime_precision interval_type interval_precision character_set_catalog character_set_schema "
        "character_set_name collation_catalog collation_schema collation_name domain_catalog "
        "domain_schema domain_name udt_catalog udt_schema udt_name scope_catalog scope_schema scope_name "
        "maximum_cardinality dtd_identifier is_self_referencing is_identity identity_generation "
        "identity_start identity_increment identity_maximum identity_minimum identity_cycle "
        "identity_ordered schema_evolution_record comment deleted data_type_alias expression kind"
    ),
    "tables": (
        "table_id table_name table_schema_id table_schema table_catalog_id table_catalog table_owner "
        "table_type is_transient clustering_key row_count bytes retention_time "
        "self_referencing_column_name reference_generation user_defined_type_catalog "
        "user_defined_type_schema user_defined_type_name is_insertable_into is_typed commit_action "
        "created last_altered last_ddl last_ddl_by deleted auto_clustering_on comment owner_role_type "
        "instance_id is_iceberg is_dynamic is_hybrid archive_storage_cool_row_count "
        "archive_storage_cool_bytes archive_storage_cold_row_count archive_storage_cold_bytes"
    ),
    "views": (
        "table_id table_name table_schema_id table_schema table_catalog_id table_catalog table_owner "
        "view_definition check_option is_updatable insertable_into is_secure created last_altered "
        "last_ddl last_ddl_by deleted comment instance_id owner_role_type"
    ),
    "schemata": (
        "schema_id schema_name catalog_id catalog_name schema_owner retention_time is_transient "
        "is_managed_access default_character_set_catalog default_character_set_schema "
        "default_character_set_name sql_path comment created last_altered deleted schema_type "
        "owner_role_type version_name versioned_schema_id object_visibility"
    ),
    "functions": (
        "function_id function_name function_schema_id function_schema function_catalog_id "
        "function_catalog function_owner argument_signature data_type character_maximum_length "
        "character_octet_length numeric_precision numeric_precision_radix numeric_scale function_language "
        "function_definition volatility is_null_call created last_altered deleted comment is_external "
        "api_integration context_headers max_batch_rows compression packages runtime_version "
        "installed_packages owner_role_type is_memoizable is_data_metric secrets "
        "external_access_integrations is_aggregate"
    ),
    "policy_references": (
        "policy_db policy_schema policy_id policy_name policy_kind ref_database_name ref_schema_name "
        "ref_entity_name ref_entity_domain ref_column_name ref_arg_column_names tag_database tag_schema "
        "tag_name policy_status"
    ),
    "masking_policies": (
        "policy_name policy_id policy_schema_id policy_schema policy_catalog_id policy_catalog "
        "policy_owner policy_signature policy_return_type policy_body policy_comment created last_altered "
        "deleted owner_role_type options"
    ),
    "row_access_policies": (
        "policy_name policy_id policy_schema_id policy_schema policy_catalog_id policy_catalog "
        "policy_owner policy_signature policy_return_type policy_body policy_comment created last_altered "
        "deleted owner_role_type options"
    ),
    "tags": (
        "tag_id tag_name tag_schema_id tag_schema tag_database_id tag_database tag_owner tag_comment "
        "created last_altered deleted allowed_values owner_role_type propagate on_conflict"
    ),
    "tag_references": (
        "tag_database tag_schema tag_id tag_name tag_value object_database object_schema object_id "
        "object_name object_deleted domain column_id column_name apply_method"
    ),
    "roles": (
        "role_id created_on deleted_on name comment owner role_type role_database_name role_instance_id "
        "owner_role_type is_from_organization_user_group"
    ),
    "users": (
        "user_id name created_on deleted_on login_name display_name first_name last_name email "
        "must_change_password has_password comment disabled snowflake_lock default_warehouse "
        "default_namespace default_role ext_authn_duo ext_authn_uid has_mfa bypass_mfa_until "
        "last_success_login expires_at locked_until_time has_rsa_public_key password_last_set_time owner "
        "default_secondary_role has_pat has_workload_identity type database_name database_id schema_name "
        "schema_id is_from_organization_user"
    ),
    "grants_to_roles": (
        "created_on modified_on privilege granted_on name table_catalog table_schema granted_to "
        "grantee_name grant_option granted_by deleted_on granted_by_role_type object_instance"
    ),
    "grants_to_users": ("created_on deleted_on role granted_to grantee_name granted_by"),
    "sessions": (
        "session_id created_on user_name authentication_method login_event_id client_application_version "
        "client_application_id client_environment client_build_id client_version access_time is_open "
        "closed_reason"
    ),
    "table_storage_metrics": (
        "id table_name table_schema_id table_schema table_catalog_id table_catalog clone_group_id "
        "is_transient active_bytes time_travel_bytes failsafe_bytes retained_for_clone_bytes deleted "
        "table_created table_dropped table_entered_failsafe schema_created schema_dropped catalog_created "
        "catalog_dropped comment instance_id archive_storage_cool_active_bytes "
        "archive_storage_cold_active_bytes archive_storage_cool_time_travel_bytes "
        "archive_storage_cold_time_travel_bytes archive_storage_cool_failsafe_bytes "
        "archive_storage_cold_failsafe_bytes archive_storage_cool_early_deletion_penalty_bytes "
        "archive_storage_cold_early_deletion_penalty_bytes"
    ),
    "backups": (
        "id backup_set_id backup_set_name backup_set_schema_id backup_set_schema backup_set_catalog_id "
        "backup_set_catalog created deleted expiration_scheduled_for is_under_legal_hold comment"
    ),
    "backup_sets": (
        "id name schema_id schema_name catalog_id catalog_name object_kind object_id object_name "
        "object_schema_id object_schema_name object_catalog_id object_catalog_name backup_policy_id "
        "backup_policy_name backup_policy_schema_id backup_policy_schema_name backup_policy_catalog_id "
        "backup_policy_catalog_name owner owner_role_type created last_altered deleted comment"
    ),
    "backup_policies": (
        "id name schema_id schema_name catalog_id catalog_name schedule expire_after_days "
        "has_retention_lock owner owner_role_type created last_altered deleted comment"
    ),
}
"""Of QUERY_HISTORY without what the page calls a column of reader accounts alone."""
