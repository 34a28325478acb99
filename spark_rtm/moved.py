"""Import modules by their 0.1.0 names, with a DeprecationWarning. Version 0.3.0 will remove this module."""

from __future__ import annotations

import importlib
import sys
import warnings
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

MOVED = {
    f"spark_rtm.{old}": f"spark_rtm.commands.{new}"
    for old, new in {
        "capacity": "capacity",
        "control_socket": "control",
        "errors": "errors",
        "resize": "resize",
        "slots": "slots",
    }.items()
}


class MovedModules(MetaPathFinder, Loader):
    """An import finder for the old module names. Python calls this finder last."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a module spec for an old name."""
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Make the old name refer to the renamed module."""
        old, new = module.__name__, MOVED[module.__name__]
        warnings.warn(f"{old} is now {new}; version 0.3.0 removes the old name", DeprecationWarning, stacklevel=2)
        sys.modules[old] = importlib.import_module(new)
