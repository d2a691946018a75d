"""A file fits in a head, a function on a screen. At the limit, split by feature, never into `part2` or `helpers`."""

from __future__ import annotations

import ast

from tests.tidy import sources

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60


def test_no_source_file_is_longer_than_a_newcomer_can_hold() -> None:
    found = [
        f"{path} has {lines} lines of {FILE_LINES_MAX}; move one feature of it to a module of its own."
        for path in sources.python_files("scorpio", "tools", "build")
        if (lines := sources.text(path).count("\n")) > FILE_LINES_MAX
    ]
    assert not found, "\n".join(found)


def test_no_function_is_longer_than_a_screen() -> None:
    found = [
        f"{path}:{node.lineno}: {node.name} has {lines} lines of {FUNCTION_LINES_MAX}; name a step of it."
        for path in sources.python_files("scorpio", "tools", "build")
        for node in ast.walk(sources.tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert not found, "\n".join(found)


def test_every_limit_says_its_reason() -> None:
    body = sources.tree("scorpio/limits.py").body
    found = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign) and after is not None:
            reasoned = isinstance(after, ast.Expr) and after.value in sources.docstrings(
                sources.tree("scorpio/limits.py")
            )
        else:
            reasoned = not isinstance(node, ast.Assign)
        if not reasoned:
            found.append(f"scorpio/limits.py:{node.lineno}: say in a docstring below the name why it is this number.")
    assert not found, "\n".join(found)
