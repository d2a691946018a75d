"""A module that is imported when somebody looks into it, for libraries that import one which they hardly use.

`importlib.util.LazyLoader` would do, but costs more imports than it saves and is not safe between threads before 3.12.
"""

from __future__ import annotations

import _thread
import sys

ModuleType = type(sys)
"""`types` is not needed before the first answer."""


def defer(name: str) -> None:
    """Let the next `import name` cost nothing. Nothing happens where the module is there."""
    if name not in sys.modules:
        sys.modules[name] = _Deferred(name)


class _Deferred(ModuleType):
    """Stands in `sys.modules` until it is looked into; whoever imported it before goes on through it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._lock = _thread.RLock()

    def __getattr__(self, name: str) -> object:
        with self._lock:  # two threads must not import it twice
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            __import__(self.__name__)
            real = sys.modules[self.__name__]
            self.__dict__.update(real.__dict__)
        return getattr(real, name)
