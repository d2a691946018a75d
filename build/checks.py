"""The checks that are not tests: style, types, generated files, workflows, warnings of the C compiler."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import machine
from steps import ROOT, call, heading


def failed() -> list[str]:
    """Run every check that is not a test; the names of those that failed."""
    ruff = [sys.executable, "-m", "ruff"]
    found = []
    for name, command in (
        ("ruff check", [*ruff, "check", "."]),
        ("ruff format", [*ruff, "format", "--check", "."]),
        ("mypy --strict", [sys.executable, "-m", "mypy"]),
        ("catalogue", [sys.executable, "build/compile_catalog.py", "--check"]),
    ):
        heading(name)
        if call(command) != 0:
            found.append(name)
    heading("workflows")
    statuses = [call([str(part) for part in command]) for command in _workflow_checks()]
    if any(statuses):
        found.append("workflows")
    heading("C with -Wall -Wextra -Werror")
    if not _c_is_clean():
        found.append("C warnings")
    return found


def _workflow_checks() -> list[list[str | Path]]:
    """Their schema, and what may go wrong in them: rights, pins, words of strangers in a shell."""
    import environment

    github = ROOT / ".github"
    schema: list[str | Path] = [environment.program("check-jsonschema"), "--quiet", "--builtin-schema"]
    chooser = github / "ISSUE_TEMPLATE" / "config.yml"
    forms = sorted(set(chooser.parent.glob("*.yml")) - {chooser})
    return [
        [*schema, "vendor.github-issue-config", chooser],
        [*schema, "vendor.github-issue-forms", *forms],
        [*schema, "vendor.github-workflows", *sorted((github / "workflows").glob("*.yml"))],
        [*schema, "vendor.dependabot", github / "dependabot.yml"],
        [environment.program("zizmor"), "--offline", "--quiet", "--persona=auditor", github],
    ]


def _c_is_clean() -> bool:
    """-O2, because gcc finds uninitialised and overflowing uses only when it optimises."""
    machine.require(machine.BUILD_NEEDS)
    sources = sorted((ROOT / "build" / "launcher").glob("*.c"))
    python = f"-I{sysconfig.get_path('include')}"
    warnings = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", python, "-c", "-o", os.devnull]
    commands = [[machine.compiler(), *warnings, str(source)] for source in sources]
    elsewhere = ROOT / "build" / "launcher" / "supervisor.c"  # as it is made where it needs a C library
    commands.append([machine.compiler(), *warnings, "-DSUPERVISOR_LIBC", str(elsewhere)])
    statuses = [call(command) for command in commands]
    return not any(statuses)
