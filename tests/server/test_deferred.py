"""A module that nobody looks into is not imported; whoever looks sees what he would have seen."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(body: str) -> str:
    """What `body` prints in a Python of its own, where nothing has imported `inspect` yet."""
    start = "import sys, threading\nfrom scorpio.deferred import defer\ndefer('inspect')\n"
    done = subprocess.run([sys.executable, "-c", start + body], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_it_loads_nothing() -> None:
    assert run("import inspect, dataclasses; print('ast' in sys.modules)") == "False"


@pytest.mark.parametrize(
    "look", ["import inspect\nsigned = inspect.signature", "from inspect import signature as signed"]
)
def test_looking_into_it_shows_the_real_one(look: str) -> None:
    body = f"{look}\nprint(signed(lambda a, b=1: a), sys.modules['inspect'].__name__, 'ast' in sys.modules)"
    assert run(body) == "(a, b=1) inspect True"


def test_what_was_imported_before_goes_on_through_it() -> None:
    body = """
import inspect as before
import dataclasses
@dataclasses.dataclass
class Point:
    x: int
import inspect as after
print(Point.__doc__, before is after, before.Parameter is after.Parameter)
"""
    assert run(body) == "Point(x: int) False True"


def test_many_threads_that_look_at_once_see_one_module() -> None:
    body = """
import inspect
sys.setswitchinterval(1e-6)
barrier, seen = threading.Barrier(8), []
def look():
    barrier.wait()
    seen.append(inspect.Parameter)
threads = [threading.Thread(target=look) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(seen), len(set(seen)))
"""
    assert run(body) == "8 1"


def test_what_it_lacks_is_an_attribute_error() -> None:
    assert run("import inspect\nprint(getattr(inspect, 'no_such_name', 'nothing'))") == "nothing"


def test_a_module_that_is_there_stays() -> None:
    assert run("import json\ndefer('json')\nprint(sys.modules['json'] is json)") == "True"
