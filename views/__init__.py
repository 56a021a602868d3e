"""SQL views over the audit tables, for people."""

import logging

from views.install import VIEWS, ViewsError, install

__all__ = ["VIEWS", "ViewsError", "install"]

logging.getLogger("views").addHandler(logging.NullHandler())  # who uses this package decides what is logged
