"""Measure scorpio beside the limit and the rivals: `python3 build/dev.py bench -- [options]`.

Prints a line for every number and keeps all of them as JSON. Exits 1 when something could not be measured or answers
differ that must not; never because of a time.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # not benchmarks/, whose modules have common names

from benchmarks import http, memory, pages, receive, startup, stdio  # noqa: E402
from benchmarks.harness import (  # noqa: E402
    LARGE,
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
from benchmarks.subjects import install_rivals  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
BENCHMARKS = (stdio, http, receive, startup, memory, pages)
RIVALS = ROOT / "benchmarks" / "rivals.toml"


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help='beginning of a name, such as "stdio sum"')
    parser.add_argument("--small", action="store_true", help="tiny input, no rivals: shows that everything runs")
    parser.add_argument("--out", type=Path, help="JSON file; default: benchmarks/results/MACHINE-COMMIT.json")
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
    size = SMALL if options.small else LARGE
    server = "1" if options.pin == "apart" else "0"
    processors = () if options.pin == "no" else ("--server-cpu", server, "--own-cpu", "0")
    return Size(
        rounds=options.rounds or size.rounds,
        budget_ms=size.budget_ms,
        count_max=size.count_max,
        starts=size.starts,
        output_bytes=size.output_bytes,
        processors=processors,
    )


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


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="run-") as folder:
        wanted = () if options.small or options.no_rivals else tuple(options.rivals or (RIVALS,))
        plan = Plan(Path(folder), size_of(options), options.only, tuple(options.against), wanted)
        if RIVALS in wanted:
            install_rivals(plan)
        records = []
        for record in measure(plan):
            records.append(record)
            print(text_line(record), flush=True)
    out = options.out or RESULTS / f"{machine()}-{commit()}.json"
    keep(out, records, plan)
    for about, note in plan.notes.items():
        print(f"{about}: {note}.")
    for failure in plan.failures:
        print(failure, file=sys.stderr)
    print(f"{len(records)} records in {out}")
    return 1 if plan.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
