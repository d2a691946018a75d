"""A module that is imported when somebody looks into it, for libraries that import one which they hardly use.

`importlib.util.LazyLoader` would do, but costs more imports than it saves and is not safe between threads before 3.12.
"""

from __future__ import annotations

import _thread
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
else:
    ModuleType = type(sys)


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
        own: str = self.__dict__["__name__"]
        with self._lock:  # two threads must not import it twice
            if sys.modules.get(own) is self:
                del sys.modules[own]
            __import__(own)
            real = sys.modules[own]
            self.__dict__.update(real.__dict__)
        return getattr(real, name)
