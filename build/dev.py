"""The project's one command: `python3 build/dev.py VERB`. Without a verb it lists them.

Standard library only until .cache/venv exists, then it goes on in that Python. Writes to .cache/, dist/ and, for
`run`, to the place of installation; never into the sources, except `catalog`, `new-tool` and `picture`, whose purpose
that is.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.pycache_prefix = str(ROOT / ".cache" / "pycache")  # before the siblings are imported: no __pycache__ in build/

import checks  # noqa: E402
import machine  # noqa: E402
from machine import Stop  # noqa: E402
from steps import NOTHING_COLLECTED, again_by_themselves, call, heading, pytest  # noqa: E402


def setup(options: argparse.Namespace) -> int:
    machine.require(machine.BUILD_NEEDS)
    print("Ready: .cache/venv holds what requirements.txt names.")
    return 0


def run(options: argparse.Namespace) -> int:
    if catalog(options) != 0:
        return 1
    executable = _install(_frozen(), _home())
    import demo

    try:
        demo.show(executable)
    except demo.DemoFailure as failure:
        raise Stop(str(failure)) from None
    return 0


def new_tool(options: argparse.Namespace) -> int:
    import new_tool

    try:
        for line in new_tool.create(ROOT, options.toolset, options.name, new_toolset=options.new_toolset):
            print(line)
    except new_tool.Refused as refusal:
        raise Stop(str(refusal)) from None
    return 0


def catalog(options: argparse.Namespace) -> int:
    import compile_catalog

    return compile_catalog.main([])


def check(options: argparse.Namespace) -> int:
    failed = checks.failed()
    heading("tests/tidy")
    if pytest("-q", "tests/tidy") != 0:
        failed.append("tests/tidy")
    return _verdict(failed)


SLOWEST = ("--durations=20", "--durations-min=3")
"""Named at the end of a full run: the suite has 20 minutes, and should be told where they go."""


def test(options: argparse.Namespace) -> int:
    strict = os.environ.get("SCORPIO_STRICT") == "1"
    for sentence in machine.require(machine.TEST_NEEDS, strict=strict):
        print(f"{sentence}. The tests that need it are skipped.", file=sys.stderr)
    _clients(strict)
    os.environ["SCORPIO_EXECUTABLE_UNDER_TEST"] = str(_frozen())
    failed = checks.failed()
    heading("pytest, the tests that run alone")
    alone = again_by_themselves(pytest("-m", "alone", *options.rest))
    if alone not in (0, NOTHING_COLLECTED):
        failed.append("tests that run alone")
    heading("pytest, all others")  # last, so that its closing line ends the output
    others = again_by_themselves(pytest("-n", "2", "-m", "not alone", *SLOWEST, *options.rest))
    if others != 0 and not (others == NOTHING_COLLECTED and alone == 0):
        failed.append("tests")
    if failed and failed != ["tests"]:
        return _verdict(failed)
    return 1 if failed else 0


def bench(options: argparse.Namespace) -> int:
    _need_file("benchmarks/run.py", "bench")
    given = [f"--{name}" for name in ("quick", "check", "accept") if getattr(options, name)]
    given += ["--only", options.only] if options.only else []
    if options.check:
        machine.require(machine.BENCH_NEEDS)
    else:
        _frozen()
    return call([sys.executable, "benchmarks/run.py", *given, *options.rest])


def fuzz(options: argparse.Namespace) -> int:
    os.environ["SCORPIO_EXECUTABLE_UNDER_TEST"] = str(_frozen())
    profile = ("-n", "2", "-m", "hypothesis", "--hypothesis-profile=fuzz", "--timeout=0")
    return _repeat(options, lambda: (*profile, f"--hypothesis-seed={random.randrange(2**32)}"))


def soak(options: argparse.Namespace) -> int:
    os.environ["SCORPIO_EXECUTABLE_UNDER_TEST"] = str(_frozen())
    os.environ["SCORPIO_SOAK"] = "1"  # a minute where the tests have a few seconds
    import fault_runs

    mixed = options.minutes / 2
    if not fault_runs.mixed_load(os.environ["SCORPIO_EXECUTABLE_UNDER_TEST"], mixed, random.randrange(2**32)):
        raise Stop("The mixed load broke a promise; `faults` above says which, and with which seed.")
    options.minutes -= mixed
    return _repeat(options, lambda: ("-m", "faults"))


def faults(options: argparse.Namespace) -> int:
    import fault_matrix

    if options.document:
        fault_matrix.DOCUMENT.write_text(fault_matrix.document(), "utf-8")
        return 0
    os.environ["SCORPIO_EXECUTABLE_UNDER_TEST"] = str(_frozen())
    import fault_runs

    return 0 if fault_runs.matrix() and fault_runs.peers() else 1


def freeze(options: argparse.Namespace) -> int:
    executable = _frozen()
    print(f"{executable.relative_to(ROOT)}: {executable.stat().st_size / 2**20:.1f} MiB")
    return 0


def wheel(options: argparse.Namespace) -> int:
    _need_file("build/wheel_hook.py", "wheel")
    _frozen()
    return call([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"])


def audit(options: argparse.Namespace) -> int:
    """Needs the index's service of known faults: elsewhere it fails, and says so, rather than find nothing."""
    import environment

    program = str(environment.auditor())
    locks = [part for name in (environment.BUILD, environment.DEV) for part in ("-r", name)]
    return call(
        [program, "--strict", "--require-hashes", "--disable-pip", "--progress-spinner=off", *locks, *options.rest]
    )


def release(options: argparse.Namespace) -> int:
    machine.require(machine.BUILD_NEEDS)
    import release

    return release.main(options.rest or ["rehearse"])


def picture(options: argparse.Namespace) -> int:
    import recording

    try:
        recording.draw(_frozen(), ROOT / "build" / "recording.svg")
    except recording.RecordingFailure as failure:
        raise Stop(str(failure)) from None
    return 0


def clean(options: argparse.Namespace) -> int:
    for name in ("dist", ".cache"):
        shutil.rmtree(ROOT / name, ignore_errors=True)
        if (ROOT / name).exists():
            raise Stop(f"{name}/ could not be removed whole; something in it belongs to another user or is in use.")
    print("Removed dist/ and .cache/.")
    return 0


class Verb(NamedTuple):
    name: str
    does: str
    function: Callable[[argparse.Namespace], int]
    requirements: str = ""
    """Lock file the verb's environment must satisfy; empty: any Python will do."""
    takes_rest: str = ""
    """Who gets what stands after `--`."""


VERBS = (
    Verb("setup", "make .cache/venv from requirements.txt and see that a C compiler is there", setup, "build"),
    Verb("run", "build, install to ~/.scorpio/scorpio and show a real session with it", run, "build"),
    Verb("new-tool", "write the skeleton of a tool: new-tool TOOLSET NAME", new_tool, "build"),
    Verb("catalog", "rewrite tools/*/_catalog.py from the descriptors", catalog, "build"),
    Verb("check", "ruff, mypy, catalogue freshness, C warnings, tests/tidy; no other test", check, "dev"),
    Verb("test", "everything: the checks, the executable, all tests", test, "dev", "pytest"),
    Verb(
        "bench",
        "measure scorpio beside its limit and its rivals: table, JSON, charts",
        bench,
        "dev",
        "benchmarks/run.py",
    ),
    Verb("fuzz", "repeat the property tests with many more examples and new seeds", fuzz, "dev", "pytest"),
    Verb("soak", "repeat the tests marked `faults` against the executable", soak, "dev", "pytest"),
    Verb("faults", "run the fault matrix and write tests/faults/README.md", faults, "dev"),
    Verb("freeze", "build dist/scorpio, the one-file executable", freeze, "build"),
    Verb("wheel", "build the platform wheel that holds the executable", wheel, "dev"),
    Verb("audit", "ask whether a pinned library has a known fault", audit, "build", "pip-audit"),
    Verb("release", "rehearse a release for this platform; publishes nothing", release, "dev", "build/release.py"),
    Verb("picture", "record a session with the executable and draw build/recording.svg", picture, "build"),
    Verb("clean", "remove dist/ and .cache/, and nothing else", clean),
)


def main(arguments: list[str]) -> int:
    too_old = machine.python_is_new_enough()
    if too_old:
        raise Stop(too_old)
    import environment

    options = _parsed(arguments)
    verb = next(verb for verb in VERBS if verb.name == options.verb)
    os.chdir(ROOT)
    if verb.requirements:
        environment.ensure(environment.DEV if verb.requirements == "dev" else environment.BUILD)
        environment.enter(arguments)
        os.environ.update(environment.python_environment())
        sys.path.insert(0, str(ROOT))
    return verb.function(options)


def _parsed(arguments: list[str]) -> argparse.Namespace:
    split = arguments.index("--") if "--" in arguments else len(arguments)
    own, rest = arguments[:split], arguments[split + 1 :]
    parser = argparse.ArgumentParser(prog="dev.py", description="The project's one command.")
    parsers = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb in VERBS:
        tail = f" Options after -- go to {verb.takes_rest}." if verb.takes_rest else ""
        described = parsers.add_parser(verb.name, help=verb.does, description=f"{verb.does}.{tail}")
        if verb.name in ("fuzz", "soak"):
            described.add_argument("--minutes", type=float, default=10, help="how long (10)")
        if verb.name == "bench":
            described.add_argument(
                "--only", metavar="NAME", help='beginning of a benchmark\'s name, such as "stdio sum"'
            )
            described.add_argument("--quick", action="store_true", help="few and short rounds: rough numbers soon")
            described.add_argument(
                "--check", action="store_true", help="count instructions; over 20 %% more is a failure"
            )
            described.add_argument("--accept", action="store_true", help="with --check: keep what is counted now")
        if verb.name == "faults":
            described.add_argument("--document", action="store_true", help="only write the document anew")
        if verb.name == "new-tool":
            described.add_argument("toolset", help="a folder of tools/")
            described.add_argument("name", help="the tool's name as clients see it, such as WordCount")
            described.add_argument("--new-toolset", action="store_true", help="make the toolset too")
    if not own:
        parser.print_help()
        sys.exit(2)
    options = parser.parse_args(own)
    if rest and not next(verb.takes_rest for verb in VERBS if verb.name == options.verb):
        parser.error(f"{options.verb} takes nothing after --")
    options.rest = rest
    return options


def _need_file(path: str, verb: str) -> None:
    if not (ROOT / path).is_file():
        raise Stop(f"{verb} needs {path}, which is not in this checkout.")


def _frozen() -> Path:
    """dist/scorpio, built now if its inputs changed."""
    machine.require(machine.BUILD_NEEDS)
    import freeze

    return freeze.freeze()


def _home() -> Path:
    chosen = os.environ.get("SCORPIO_HOME")
    return Path(chosen).expanduser() if chosen else Path.home() / ".scorpio"


def _install(executable: Path, home: Path) -> Path:
    """Copy beside the target, then rename over it: a server that runs keeps its file, a crash leaves the old one."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = home / executable.name
    partial = home / f".{executable.name}.{os.getpid()}"
    try:
        shutil.copyfile(executable, partial)
        partial.chmod(0o755)
        with partial.open("rb") as copied:
            os.fsync(copied.fileno())
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise Stop(f"The executable could not be installed as {target}: {error.strerror}.") from None
    print(f"Installed {target}", flush=True)
    return target


def _clients(strict: bool) -> None:
    import environment

    try:
        environment.ensure_clients()
    except Stop as stop:
        if strict:
            raise
        print(f"{stop} The tests that need it are skipped.", file=sys.stderr)


def _repeat(options: argparse.Namespace, selection: Callable[[], tuple[str, ...]]) -> int:
    """pytest again and again until the minutes are over or a run fails."""
    ends = time.monotonic() + options.minutes * 60
    rounds = 0
    while rounds == 0 or time.monotonic() < ends:
        rounds += 1
        heading(f"round {rounds}")
        status = pytest("-q", *selection(), *options.rest)
        if status == NOTHING_COLLECTED:
            raise Stop(f"{options.verb} found no test: none carries its marker, or the options after -- left none.")
        if status != 0:
            raise Stop(f"Round {rounds} failed; the lines above say what and with which seed.")
    print(f"{rounds} rounds without a failure.")
    return 0


def _verdict(failed: list[str]) -> int:
    if failed:
        print(f"Failed: {', '.join(failed)}.", file=sys.stderr)
        return 1
    print("All checks passed.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stop as stop:
        sys.exit(f"dev.py: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # whoever read the output, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
