"""Each event and each facet keeps to the schema that OpenLineage has published, facet by facet."""

from __future__ import annotations

import pytest

from audit.exchange.openlineage.facets import VERSIONS, facet

from . import published

pytestmark = pytest.mark.skipif(not published.HAS_CARGO, reason="cargo fetches the schemas, and is not here")


def facets_of(event):
    """All facets of an event, with where they stand."""
    places = [("run", event["run"].get("facets", {})), ("job", event["job"].get("facets", {}))]
    for side, own in (("inputs", "inputFacets"), ("outputs", "outputFacets")):
        for one in event[side]:
            places += [(side, one.get("facets", {})), (side, one.get(own, {}))]
    for place, found in places:
        for name, one in found.items():
            yield f"{place}.{name}", one


def test_events(events):
    """The core: names, times, ids."""
    assert {fault for event in events for fault in published.event_faults(event)} == set()


def test_facets(events):
    """Each by the schema that it names; the core does not look into them."""
    found = [
        (name, fault)
        for event in events
        for name, one in facets_of(event)
        for fault in published.facet_faults(one)
    ]
    assert found == []


def test_every_facet_is_seen(events):
    """The root gives each facet that exports have, so that each was checked."""
    seen = {one["_schemaURL"].rpartition("/")[2] for event in events for _, one in facets_of(event)}
    assert seen == VERSIONS.keys()


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("ColumnLineageDatasetFacet", {"fields": {"a": {"inputFields": [{"name": "t"}]}}}),
        ("LifecycleStateChangeDatasetFacet", {"lifecycleStateChange": "MOVED"}),
        ("TagsDatasetFacet", {"tags": [{"key": "a"}]}),
        ("DatasetVersionDatasetFacet", {"version": "1"}),
        ("OwnershipDatasetFacet", {"owners": [{"nmae": "x"}]}),
        ("StorageDatasetFacet", {}),
    ],
)
def test_a_wrong_facet_is_found(name, body):
    """So the checks can fail."""
    assert published.facet_faults(facet(name, **body))


def test_a_wrong_event_is_found(events):
    """A job is asked for."""
    event = {name: value for name, value in events[0].items() if name != "job"}
    assert published.event_faults(event)
