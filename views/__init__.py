"""SQL views over the audit tables, for people."""

import logging

from views.catalog import register_catalog
from views.install import VIEWS, ViewsError, install

__all__ = ["VIEWS", "ViewsError", "install", "register_catalog"]

logging.getLogger("views").addHandler(logging.NullHandler())  # who uses this package decides what is logged
