"""The build hook of the wheel: the jar is in it, or there is no wheel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

import build


class JarBuildHook(BuildHookInterface[Any]):
    """Builds the jar before a wheel is packed, an editable one included."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """As hatchling calls it."""
        del version, build_data
        build.build()
