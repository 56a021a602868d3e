"""Tags handed on by the worker, where `propagate_tags` says so: what a statement wrote carries its sources'.

In: the finding of a statement that has run, before its record is made. Out: the same finding; where columns
may lack tags, the record says why, and so is whoever waits for the statement told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from audit.by import By
from lineage.model import ModifiedObject

if TYPE_CHECKING:
    from audit.analysis.spark_catalog import CatalogSnapshot
    from audit.driver import Driver
    from audit.record import Finding, Started
    from lineage.model import Access


def propagated(
    driver: Driver, catalog: CatalogSnapshot, started: Started, finding: Finding, problems: list[str]
) -> Finding:
    """Set the tags; `problems` gains why some may be missing.

    A driver that dies between a statement's commit and this leaves its columns without tags.
    """
    if not driver.config.propagate_tags or started.query_type == "SELECT":
        return finding
    access = finding.access
    if access.analysis != "full" and driver.guarded(driver.policies.has_tags, otherwise=True):
        problems.append(f"its analysis is {access.analysis}: {access.reason}")
    by = By(driver.clock(), started.user_name, started.query_id, driver.new_id)
    found: list[str] = []
    try:
        found += map(str, driver.policies.propagate(catalog.session.spark, written(access), by))
    except Exception as error:  # noqa: BLE001 - the guard of the worker: the statement has run, and gets its record
        found.append(f"{type(error).__name__}: {error}")
        driver.note_failure(started.query_id, error)
    if not found:
        return finding
    problems += found
    reason = "; ".join([*([access.reason] if access.reason else []), *found])
    analysis = "partial" if access.analysis == "full" else access.analysis
    return replace(finding, access=replace(access, analysis=analysis, reason=reason))


def written(access: Access) -> list[ModifiedObject]:
    """What a statement has made of something: what it wrote, and the view that it defined."""
    every = (access, *access.also)
    views = [one.defines.view for one in every if one.defines is not None]
    return [*(target for one in every for target in one.objects_modified), *views]
