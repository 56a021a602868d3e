"""Tag propagation (`propagate_tags`): columns that a statement wrote get the tags of their sources.

In: the finding of a finished statement, before its record is written. Out: the same finding; if tags may be
missing, the record and a warning to the waiting caller tell the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from audit.core.actor import Actor
from audit.core.guard import attempt
from lineage.model import ModifiedObject

if TYPE_CHECKING:
    from audit.core.guard import Failures
    from audit.policies.service import Policies
    from audit.record.access_record import Finding, Started
    from audit.spark.catalog.session_catalog import CatalogSnapshot
    from lineage.model import Access


class TagPropagation:
    """Sets the tags on the worker's thread.

    A driver that dies between a statement's commit and this leaves its columns without tags.

    Args:
        policies: set the tags.
        clock: UTC microseconds.
        new_id: gives ids of events.
        failures: notes errors.
        enabled: False returns every finding unchanged.
    """

    def __init__(
        self,
        policies: Policies,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        failures: Failures,
        *,
        enabled: bool,
    ) -> None:
        self._policies = policies
        self._clock = clock
        self._new_id = new_id
        self._failures = failures
        self._enabled = enabled

    def may_set(self) -> bool:
        """Whether there are tags to propagate; True if the look-up fails."""
        return self._enabled and self._failures.guard(self._policies.has_tags, otherwise=True)

    def propagated(
        self, catalog: CatalogSnapshot, started: Started, finding: Finding, problems: list[str]
    ) -> Finding:
        """Set the tags; `problems` takes the reasons why some may be missing."""
        if not self._enabled or started.query_type == "SELECT":
            return finding
        access = finding.access
        if access.analysis != "full" and self.may_set():
            problems.append(f"its analysis is {access.analysis}: {access.reason}")
        actor = Actor(self._clock(), started.user_name, started.query_id, self._new_id)

        def propagate() -> list[str]:
            spark = catalog.session.spark
            return list(map(str, self._policies.propagate_tags(spark, written(access), actor)))

        def failed(error: Exception) -> list[str]:
            self._failures.note(error, started.query_id)
            return [f"{type(error).__name__}: {error}"]

        found = attempt(propagate, failed)
        problems += found
        return finding.doubted(found)


def written(access: Access) -> list[ModifiedObject]:
    """The objects that a statement derived from others: those that it wrote, and a view that it defined."""
    every = (access, *access.also)
    views = [one.defines.view for one in every if one.defines is not None]
    return [*(target for one in every for target in one.objects_modified), *views]
