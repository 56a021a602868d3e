"""The protocol of a catalog for lineage, so that lineage needs no Spark.

In: the parts of a name. Out: the `Relation` or `Function` that it stands for, or None. Whoever
implements it answers as Spark would: a one-part name means a temp view first, then
`current[0].current[1].name`; a two-part name `current[0].a.b`; three parts are complete.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol, cast

from lineage.model import Attachment, Domain, Function, Relation


class Catalog(Protocol):
    """Names to objects, as of the moment that the statement ran."""

    @property
    def current(self) -> tuple[str, str]:
        """The current catalog and schema."""

    def relation(self, parts: Sequence[str], current: tuple[str, str] | None = None) -> Relation | None:
        """The table or view that a name means; `current` overrides the current catalog and schema."""

    def path(self, provider: str, location: str) -> Relation:
        """The registered table at a location, else a STAGE relation named by the location."""

    def function(self, parts: Sequence[str], current: tuple[str, str] | None = None) -> Function | None:
        """The user-defined function that a name means, None for a built-in or an unknown one."""


class VersionedCatalog(Catalog, Protocol):
    """A catalog with a version, so that results can be cached."""

    @property
    def version(self) -> Hashable:
        """A value that changes whenever an answer may change.

        It differs after DDL, with other temporary views, in another current schema, and between catalogs.
        """


def version_of(catalog: Catalog) -> Hashable | None:
    """The version of a `VersionedCatalog`, None of any other."""
    # By attribute: other catalogs are not obliged to subclass these protocols.
    found: Hashable | None = getattr(catalog, "version", None)
    return found


class GovernedCatalog(Catalog, Protocol):
    """A catalog that knows policies and tags. One that does not is a plain `Catalog` and needs nothing."""

    def policies(self, relation: Relation) -> Sequence[Attachment]:
        """The policies in force on a table or view, those that came through a tag included.

        A column has one masking policy at most: set on it by name, else through a tag.
        """

    def governance_id(self, domain: Domain, name: str) -> int | None:
        """The id of a policy or tag by its fully qualified name, None where there is none."""

    def tagged(self, relation: Relation, column: str | None, tag: str) -> bool:
        """Whether a tag is set on a table, view or schema, or on a column of it, by itself."""


class ListedCatalog(Catalog, Protocol):
    """A catalog that knows its schemas, so that IF [NOT] EXISTS can be told of them."""

    def has_schema(self, parts: Sequence[str]) -> bool | None:
        """Whether there is a schema `(schema,)` or `(catalog, schema)`; None where it cannot tell."""


def schema_exists(catalog: Catalog, parts: Sequence[str]) -> bool | None:
    """Whether a schema is there; None where the catalog cannot tell."""
    return cast("ListedCatalog", catalog).has_schema(parts) if hasattr(catalog, "has_schema") else None


def governed(catalog: Catalog) -> GovernedCatalog | None:
    """The catalog as one that knows policies, None for one that does not."""
    return cast("GovernedCatalog", catalog) if hasattr(catalog, "policies") else None
