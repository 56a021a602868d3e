"""Tables of a root, opened by delta-rs.

In: a root, the name of a table. Out: the table, or the error of who asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.core.errors import TableMissingError
from audit.store.delta_files import UnsupportedStore, open_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from audit.exchange.errors import ImportFailed, SendingFailed


def opened_table(
    root: str, name: str, failed: type[ImportFailed | SendingFailed], do: str
) -> DeltaTable | None:
    """A table; None where it is not there yet.

    Args:
        root: folder of the audit tables.
        name: of the table.
        failed: the error where delta-rs cannot read where it lies.
        do: what to do elsewhere then, as "import on".
    """
    try:
        return open_table(root, name)
    except TableMissingError:
        return None
    except UnsupportedStore as error:
        raise failed(
            f"delta-rs cannot read {root} ({error})",
            f"{do} a machine where the root is a disk or an object store that it knows",
        ) from error
