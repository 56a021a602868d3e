"""Are the packages that come with `audit` the ones that Python finds?

In: the place of this package. Out: nothing, or an error that names the module that stands in the way. A file
`lineage.py` or `views.py` beside a job comes before the installed package on Python's path.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from audit.core.errors import ImportShadowed

OWN_PACKAGES = ("lineage", "views")
"""The other top-level packages of this project."""


def require_own_packages(init: str) -> None:
    """Check that `lineage` and `views` lie beside `audit`.

    Args:
        init: the file `__init__.py` of the package `audit`.

    Raises:
        ImportShadowed: Python finds another module of that name, or has imported one.
    """
    home = Path(init).resolve().parents[1]
    for name in OWN_PACKAGES:
        found = _origin(name)
        if found is None:
            raise ImportShadowed(
                f"the package {name} of spark-access-history is missing from {home}",
                "install spark-access-history again",
            )
        if Path(found).resolve().parent != home / name:
            raise ImportShadowed(
                f"{found} shadows the package {name} of spark-access-history, which audit needs",
                "rename that module, or move it into a package of yours",
            )


def _origin(name: str) -> str | None:
    """The file of the module that `import name` gives."""
    # `find_spec` raises ValueError for a loaded module that has no `__spec__`.
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None) or f"a module {name} without a file"
    spec = find_spec(name)
    # A folder without `__init__.py` is a namespace package: it has no origin, only search locations.
    return None if spec is None else spec.origin or next(iter(spec.submodule_search_locations or ()), None)
