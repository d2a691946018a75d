"""Measure scorpio beside the limit and the rivals: `python3 build/dev.py bench [options]`.

Prints a line for every number, then the targets; keeps all numbers as JSON, a page and charts: in benchmarks/results
what a whole run gave, else in .cache/bench/last. Exits 1 when something could not be measured or answers differ that
must not; never because of a time. `--check` counts instructions instead, and does fail (instructions.py).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # not benchmarks/, whose modules have common names

from benchmarks import (  # noqa: E402
    charts,
    commands,
    http,
    instructions,
    memory,
    pages,
    profiles,
    receive,
    report,
    scaling,
    startup,
    stdio,
    targets,
)
from benchmarks.harness import (  # noqa: E402
    LARGE,
    QUICK,
    ROOT,
    SCRATCH,
    SMALL,
    BenchmarkFailure,
    Plan,
    Record,
    Size,
    commit,
    machine,
    text_line,
)
from benchmarks.rivals_here import install_rivals  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
PARTIAL = SCRATCH / "last"
"""Where a run goes that is not whole: results/ holds nothing that cannot be compared."""

BENCHMARKS = (stdio, http, commands, receive, startup, memory, scaling, pages)
RIVALS = ROOT / "benchmarks" / "rivals.toml"


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help='beginning of a name, such as "stdio sum"')
    parser.add_argument("--small", action="store_true", help="tiny input, no rivals: shows that everything runs")
    parser.add_argument("--quick", action="store_true", help="few and short rounds: three minutes, rough numbers")
    parser.add_argument("--check", action="store_true", help="only compare instruction counts with the committed ones")
    parser.add_argument("--profile", action="store_true", help="take the numbers apart instead: where the time goes")
    parser.add_argument("--accept", action="store_true", help="with --check: commit to what is counted now")
    parser.add_argument(
        "--out", type=Path, help="JSON file; default: MACHINE-COMMIT.json in results/ or .cache/bench/last"
    )
    parser.add_argument(
        "--against", action="append", default=[], metavar="COMMIT", help="scorpio as it was, from source"
    )
    parser.add_argument("--rivals", action="append", type=Path, metavar="FILE", help="in place of rivals.toml")
    parser.add_argument("--no-rivals", action="store_true", help="scorpio and the limit only")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often each subject has its turn")
    parser.add_argument(
        "--pin", choices=("no", "apart", "together"), default="no", help="server and client to processors"
    )
    return parser.parse_args(arguments)


def size_of(options: argparse.Namespace) -> Size:
    size = SMALL if options.small else QUICK if options.quick else LARGE
    server = "1" if options.pin == "apart" else "0"
    processors = () if options.pin == "no" else ("--server-cpu", server, "--own-cpu", "0")
    return replace(size, rounds=options.rounds or size.rounds, processors=processors)


def measure(plan: Plan) -> Iterator[Record]:
    """Every benchmark that is wanted; what fails becomes a note, and the rest goes on."""
    for benchmark in BENCHMARKS:
        try:
            yield from benchmark.run(plan)
        except BenchmarkFailure as failure:
            plan.failures.append(str(failure))


def keep(out: Path, records: list[Record], plan: Plan) -> None:
    """A record a line, so that two files compare well."""
    out.parent.mkdir(parents=True, exist_ok=True)
    head = {
        "machine": machine(),
        "commit": commit(),
        "measured": datetime.now(UTC).strftime("%Y-%m-%d"),
        "rounds": plan.size.rounds,
        "processors": " ".join(plan.size.processors),
        "notes": plan.notes,
    }
    rows = ",\n".join(json.dumps(asdict(record), ensure_ascii=False) for record in records)
    text = json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}")
    out.write_text(f'{text},\n "records": [\n{rows}\n]}}\n', "utf-8")


def profile(plan: Plan, out: Path) -> int:
    text = profiles.page(plan, f"{machine()}, {commit()}, {datetime.now(UTC):%Y-%m-%d}")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, "utf-8")
    print(text)
    return 0


def print_targets(records: list[Record]) -> None:
    """Those that were measured, and what grew too fast."""
    rows = [each.row() for each in targets.reached(records) if each.value is not None]
    for against, what, target, value, verdict in rows:
        print(f"{against:<27} {what:<31} {target:>8}  {value:>9}  {verdict.strip('*')}")
    for sentence in scaling.grown_too_fast(records):
        print(sentence)


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    if options.check:
        return instructions.check(accept=options.accept)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="run-") as folder:
        wanted = () if options.small or options.no_rivals else tuple(options.rivals or (RIVALS,))
        plan = Plan(Path(folder), size_of(options), options.only, tuple(options.against), wanted)
        if options.profile:
            return profile(plan, options.out or RESULTS / "profile.md")
        if RIVALS in wanted:
            install_rivals(plan)
        records = []
        for record in measure(plan):
            records.append(record)
            print(text_line(record), flush=True)
    partial = bool(options.small or options.quick or options.only or options.no_rivals or options.rounds)
    out = options.out or (PARTIAL if partial else RESULTS) / f"{machine()}-{commit()}.json"
    keep(out, records, plan)
    drawn = [] if options.small else charts.draw(records, out.parent)
    head = f"{machine()}, {commit()}, {datetime.now(UTC):%Y-%m-%d}, {plan.size.rounds} rounds"
    out.with_name("table.md").write_text(report.page(records, head, plan.notes), "utf-8")
    if not options.small:
        print_targets(records)
    for about, note in plan.notes.items():
        print(f"{about}: {note}.")
    for failure in plan.failures:
        print(failure, file=sys.stderr)
    print(f"{len(records)} records in {out}; beside it table.md and {len(drawn)} charts")
    return 1 if plan.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
