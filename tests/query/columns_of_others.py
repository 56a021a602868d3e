"""The columns of Unity Catalog's system tables and of BigQuery's INFORMATION_SCHEMA (read in November 2026).

In: nothing. Out: by view of ours, the names in the order of the page; of the lineage and the history of
queries in the order of the tables themselves, whose pages could not be read in full.
"""

COLUMNS = {
    "system_access_audit": (
        "version event_time event_date workspace_id source_ip_address user_agent session_id user_identity "
        "service_name action_name request_id request_params response audit_level account_id event_id "
        "identity_metadata"
    ),
    "system_access_table_lineage": (
        "account_id metastore_id workspace_id entity_type entity_id entity_run_id source_table_full_name "
        "source_table_catalog source_table_schema source_table_name source_path source_type "
        "target_table_full_name target_table_catalog target_table_schema target_table_name target_path "
        "target_type created_by event_time event_date record_id event_id statement_id entity_metadata "
        "direct_access"
    ),
    "system_access_column_lineage": (
        "account_id metastore_id workspace_id entity_type entity_id entity_run_id source_table_full_name "
        "source_table_catalog source_table_schema source_table_name source_path source_type "
        "source_column_name target_table_full_name target_table_catalog target_table_schema "
        "target_table_name target_path target_type target_column_name created_by event_time event_date "
        "record_id event_id statement_id entity_metadata direct_access"
    ),
    "system_query_history": (
        "account_id workspace_id statement_id executed_by session_id execution_status compute "
        "executed_by_user_id statement_text statement_type error_message client_application client_driver "
        "total_duration_ms waiting_for_compute_duration_ms waiting_at_capacity_duration_ms "
        "execution_duration_ms compilation_duration_ms total_task_duration_ms result_fetch_duration_ms "
        "start_time end_time update_time read_partitions pruned_files read_files read_rows produced_rows "
        "read_bytes read_io_cache_percent from_result_cache spilled_local_bytes written_bytes "
        "shuffle_read_bytes query_source executed_as_user_id executed_as written_rows written_files "
        "cache_origin_statement_id query_parameters query_tags pruned_files_bytes read_files_bytes"
    ),
    "information_schema_jobs": (
        "bi_engine_statistics cache_hit creation_time destination_table dml_statistics end_time "
        "error_result job_creation_reason job_id job_stages job_type labels parent_job_id priority "
        "project_id project_number query referenced_tables reservation_id edition session_info start_time "
        "state statement_type timeline total_bytes_billed total_bytes_processed total_modified_partitions "
        "total_slot_ms total_services_sku_slot_ms transaction_id user_email principal_subject query_info "
        "transferred_bytes materialized_view_statistics metadata_cache_statistics search_statistics "
        "query_dialect continuous continuous_query_info vector_search_statistics external_service_costs"
    ),
    "table_storage": (
        "project_id project_number table_catalog table_schema table_name creation_time total_rows "
        "total_partitions total_logical_bytes active_logical_bytes long_term_logical_bytes "
        "current_physical_bytes total_physical_bytes active_physical_bytes long_term_physical_bytes "
        "time_travel_physical_bytes storage_last_modified_time deleted table_type managed_table_type "
        "fail_safe_physical_bytes last_metadata_index_refresh_time table_deletion_reason "
        "table_deletion_time"
    ),
}
