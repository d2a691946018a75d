"""What a test needs and this machine has not."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacking(what: str) -> NoReturn:
    """Skip; fail where SCORPIO_STRICT=1 says that nothing may be left out."""
    if os.environ.get("SCORPIO_STRICT") == "1":
        pytest.fail(what)
    pytest.skip(what)
