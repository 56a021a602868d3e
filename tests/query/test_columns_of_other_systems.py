"""Views as other systems have them have their columns, in their order; ours come after them."""

from __future__ import annotations

import pytest

from audit.store.tables import ACCESS_HISTORY
from audit.store.views import description

from .columns_of_others import COLUMNS as OF_OTHERS
from .columns_of_snowflake import COLUMNS

VIEW_OF = {"query_history": "snowflake_query_history"}
"""The view where it has another name than the page."""
WITHOUT = {
    "access_history": "event_source additional_properties invoker_identity agents_info",
    "aggregate_query_history": (
        "database_id schema_id session_id role_type warehouse_id warehouse_name warehouse_size"
        " warehouse_type is_client_generated_statement release_version percentage_scanned_from_cache"
        " bytes_written_to_result bytes_read_from_result rows_inserted rows_updated rows_deleted"
        " rows_unloaded bytes_deleted partitions_scanned partitions_total bytes_spilled_to_local_storage"
        " bytes_spilled_to_remote_storage bytes_sent_over_the_network compilation_time execution_time"
        " queued_provisioning_time queued_repair_time queued_overload_time transaction_blocked_time"
        " outbound_data_transfer_cloud outbound_data_transfer_region outbound_data_transfer_bytes"
        " inbound_data_transfer_cloud inbound_data_transfer_region inbound_data_transfer_bytes"
        " list_external_files_time credits_used_cloud_services external_function_total_invocations"
        " external_function_total_sent_rows external_function_total_received_rows"
        " external_function_total_sent_bytes external_function_total_received_bytes query_load_percent"
        " query_acceleration_bytes_scanned query_acceleration_partitions_scanned"
        " query_acceleration_upper_limit_scale_factor child_queries_wait_time"
        " hybrid_table_requests_throttled_count"
    ),
}
"""What is left out: docs/queries-from-other-systems.md says so."""


@pytest.mark.parametrize("page", [page for page in COLUMNS if page != "access_history"])
def test_a_view(page):
    """All of the page, then ours."""
    left_out = WITHOUT.get(page, "").split()
    theirs = [column for column in COLUMNS[page].split() if column not in left_out]
    ours = list(description(VIEW_OF.get(page, page)).columns)
    assert ours[: len(theirs)] == theirs
    assert not {*ours} & {*left_out}


@pytest.mark.parametrize("view", OF_OTHERS)
def test_a_view_of_unity_catalog_or_bigquery(view):
    """All of theirs, then ours."""
    theirs = OF_OTHERS[view].split()
    assert list(description(view).columns)[: len(theirs)] == theirs


def test_access_history():
    """The table has them in the same order, with ours between."""
    ours = [name for name, _, _ in ACCESS_HISTORY.columns]
    theirs = [
        one for one in COLUMNS["access_history"].split() if one not in WITHOUT["access_history"].split()
    ]
    assert [name for name in ours if name in theirs] == theirs
