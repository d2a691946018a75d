"""What the tidy tests read: the files of the repository that are tracked or would be, and their syntax trees."""

from __future__ import annotations

import ast
import functools
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED = "_catalog.py"


@functools.cache
def files() -> tuple[str, ...]:
    """Paths relative to the root, in order, without what .gitignore names."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return tuple(sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file()))


def python_files(*tops: str) -> list[str]:
    """Python sources under the given top-level folders, generated ones excepted."""
    return [name for name in files() if name.endswith(".py") and name.split("/")[0] in tops and not is_generated(name)]


def is_generated(name: str) -> bool:
    return name.endswith(f"/{GENERATED}")


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


@functools.cache
def tree(name: str) -> ast.Module:
    return ast.parse(text(name), name)


def dotted(node: ast.AST) -> str:
    """`os.path.join` for that expression; empty for what is not a chain of names."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def docstrings(module: ast.Module) -> set[ast.AST]:
    """String statements: docstrings of anything, attribute docstrings included."""
    return {
        node.value
        for node in ast.walk(module)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
