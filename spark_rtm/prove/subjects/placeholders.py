"""Answer a notebook's calls of `dbutils` with placeholders."""

from types import SimpleNamespace
from typing import Any

SECRET = "prove-secret"
"""The checks look for this text in plans, logs and checkpoints."""


class Dbutils:
    """The parts of `dbutils` that jobs use; other parts accept every call."""

    def __init__(self) -> None:
        self._widgets = dict[str, str]()
        self.secrets = SimpleNamespace(get=secret, getBytes=lambda *names: secret(*names).encode())
        self.widgets = SimpleNamespace(
            get=lambda name: self._widgets.get(name) or f"prove-{name}",
            text=self._define,
            dropdown=self._define,
            combobox=self._define,
            multiselect=self._define,
            removeAll=self._widgets.clear,
            remove=lambda name: self._widgets.pop(name, None),
        )

    def _define(self, name: str, default: str = "", *_: object, **keywords: Any) -> None:
        self._widgets[name] = str(keywords.get("defaultValue", default))

    def __getattr__(self, _name: str) -> "Anything":
        """Return an object for a part that is not listed above."""
        return Anything()


class Anything:
    """An object that has every attribute and accepts every call; it is false, like an empty answer."""

    def __getattr__(self, _name: str) -> "Anything":
        """Return the object itself."""
        return self

    def __call__(self, *_: object, **__: object) -> "Anything":
        """Return the object itself."""
        return self

    def __bool__(self) -> bool:
        """Return False."""
        return False


def secret(scope: str = "", key: str = "", **names: str) -> str:
    """Return the placeholder of a secret."""
    return f"{SECRET}-{names.get('scope', scope)}-{names.get('key', key)}"
