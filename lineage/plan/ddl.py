"""DDL commands of a plan into `object_modified_by_ddl`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from lineage.model import Access, AccessedObject, Domain, ObjectDdl
from lineage.plan.facts import Target
from lineage.plan.reader import PlanReader
from lineage.plan.scope import Flow
from lineage.plan.tree import Node, Tree, kind

Operation = Literal["ALTER", "CREATE", "DROP", "REPLACE", "UNDROP"]
Query = Callable[[PlanReader, Flow, str], Access]


def known(name: str) -> bool:
    return False


def analyze(nodes, target, reader, queried):
    raise NotImplementedError


def created(written, target, node, direct):
    return None
