"""SQL views over the audit tables, for people."""

from views.catalog import register_catalog
from views.install import VIEWS, ViewsError, install

__all__ = ["VIEWS", "ViewsError", "install", "register_catalog"]
