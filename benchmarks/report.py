"""A run as a page of Markdown: the targets, then what every subject took. Reads records only."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import targets
from benchmarks.charts import number
from benchmarks.harness import Record
from benchmarks.scaling import grown_too_fast

COLUMNS = (
    ("stdio sum", "echo, µs"),
    ("stdio list core", "tools/list (13), µs"),
    ("stdio sum 10 KB", "10 KB, µs"),
    ("stdio sum 1 MB", "1 MB, µs"),
    ("stdio sum x64", "64 in flight, µs a call"),
    ("startup", "start, ms"),
    ("memory idle rss", "RSS, MB"),
    ("memory idle pss", "PSS, MB"),
    ("command bash", "Bash, µs"),
    ("command bash at once", "Bash, one after the other, µs"),
    ("command background", "background, µs"),
    ("command output", "output, µs"),
    ("http modern sum x64", "HTTP, µs a request"),
)


def page(records: Sequence[Record], head: str, notes: dict[str, str]) -> str:
    parts = [
        f"# {head}\n\nMade by `python3 build/dev.py bench`; ../README.md says how it is measured and read.\n",
        "## Targets\n\n" + targets.markdown(targets.reached(records)),
        "## Medians\n\nIn brackets: times the limit's, of the same rounds.\n\n" + medians(records),
        "## Growth\n\n" + growth(records),
    ]
    if notes:
        parts.append("## Left out\n\n" + "".join(f"- {about}: {note}.\n" for about, note in notes.items()))
    return "\n".join(parts)


def medians(records: Sequence[Record]) -> str:
    found = {(record.subject, record.benchmark): record for record in records}
    columns = [column for column in COLUMNS if any(record.benchmark == column[0] for record in records)]
    shown = {name for name, _ in columns}
    subjects = list(dict.fromkeys(record.subject for record in records if record.benchmark in shown))
    rows = ["| | " + " | ".join(title for _, title in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for subject in subjects:
        cells = [_cell(found.get((subject, name))) for name, _ in columns]
        rows.append(f"| {subject} | " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def _cell(record: Record | None) -> str:
    if record is None:
        return ""
    return f"{number(record.median)} ({record.ratio:.2g}×)" if record.subject != "limit" else number(record.median)


def growth(records: Sequence[Record]) -> str:
    if not any(record.benchmark.startswith("scaling ") for record in records):
        return "Not measured.\n"
    faults = grown_too_fast(records)
    return "".join(f"- {fault}\n" for fault in faults) or "No step of any series cost more than its part.\n"
