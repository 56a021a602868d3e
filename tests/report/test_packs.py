"""The figures under the requirements of norms."""

from __future__ import annotations

import re

import pytest

from audit.report.answers import sections_of
from audit.report.kinds import KINDS, all_figures
from audit.report.kinds.records import RECORDS
from audit.report.packs import PACKS


@pytest.mark.parametrize("pack", PACKS)
def test_a_norm_names_figures_that_are_there(pack):
    """Each of them is in a report about a whole root."""
    named = {name for one in PACKS[pack].requirements for name in one.figures}
    assert named <= all_figures().keys()


def in_order(number):
    """What numbers of sections are sorted by: `10.2.1.1`, `164.312(a)(1)`, `404, operations`."""
    return [
        part.zfill(4) if part.isdigit() else part
        for part in re.findall(r"\d+|[a-zA-Z]+", number.split(",")[0])
    ]


@pytest.mark.parametrize("pack", PACKS)
def test_requirements_are_in_the_order_of_the_norm(pack):
    """Of sections and paragraphs, as a reader looks them up."""
    numbers = [one.number for one in PACKS[pack].requirements]
    assert numbers == sorted(numbers, key=in_order)
    assert len({*numbers}) == len(numbers)


def test_all_that_is_figured_has_its_place_in_pci_dss():
    """But what is no business of requirement 10: lineage."""
    named = {name for one in PACKS["pci-dss-10"].requirements for name in one.figures}
    lineage = {one.name for one in KINDS["lineage"].figures}
    assert all_figures().keys() - named <= lineage


@pytest.mark.parametrize("pack", PACKS)
def test_a_norm_without_a_report_has_all_its_figures(pack):
    """In the order of the norm; then those on the records that it does not name."""
    sections = sections_of(None, PACKS[pack])
    for section, requirement in zip(sections, PACKS[pack].requirements, strict=False):
        assert section.title == f"{PACKS[pack].called} {requirement.number}"
        assert tuple(one.name for one in section.figures) == requirement.figures
    named = {one.name for section in sections for one in section.figures}
    assert named >= {one.name for one in RECORDS.figures}


def test_a_figure_that_two_requirements_name_stands_in_the_first(report):
    """Figures are numbered as they come; a later requirement refers to it."""
    made = report(None, pack="pci-dss-10")
    names = [one.figure.name for one in made.figures]
    assert len(names) == len(set(names))
    assert [one.number for one in made.figures] == list(range(1, len(names) + 1))
    [paused] = [one for one in made.chapters if one.title == "Requirement 10.2.1.6"]
    assert [one.figure.name for one in paused.again] == ["logging_event_counts", "logging_events"]
    assert paused.figures == ()


def test_a_report_under_a_norm_has_the_same_figures(report):
    """In another order, and it says where the rest is."""
    plain, under = report("access"), report("access", pack="pci-dss-10")
    rows = {one.figure.name: one.rows for one in under.figures}
    assert rows == {one.figure.name: one.rows for one in plain.figures}
    [privileges] = [one for one in under.chapters if one.title == "Requirement 10.2.1.5"]
    assert "`audit report privileges --pack pci-dss-10` has it" in privileges.text
    [review] = [one for one in under.chapters if one.title == "Requirement 10.4.1"]
    assert "Not in this report" not in review.text
