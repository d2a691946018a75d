"""SVG charts of a run's records: bars beside the rivals, and curves of how the cost grows.

Text and lines take a grey that can be read on white and on black. Draws what it is given and measures nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.harness import Record
from benchmarks.scaling import series_of

WIDTH = 760
LABEL = 230
"""Where bars begin."""
ROW = 26
INK, GRID, OURS, OTHERS, BEST = "#7d8590", "#7d859040", "#d9480f", "#868e96", "#adb5bd"
FONT = 'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif"'

Value = Callable[[Record], float]

BARS: tuple[tuple[str, str, str, str, Value], ...] = (
    ("echo", "stdio sum", "Round trip of a small call", "µs, median; shorter is better", lambda record: record.median),
    ("throughput", "stdio sum x64", "Calls a second, 64 in flight", "longer is better", lambda r: 1e6 / r.median),
    ("large", "stdio sum 1 MB", "Round trip of a call with 1 MB", "ms, median", lambda r: r.median / 1000),
    ("list", "stdio list core", "tools/list with 13 tools", "µs, median", lambda record: record.median),
    ("start", "startup", "Start to the first answer", "ms, median", lambda record: record.median),
    ("memory", "memory idle pss", "Memory of an idle server", "MB, PSS", lambda record: record.median),
    (
        "http",
        "http modern sum x64",
        "HTTP requests a second, 64 connections",
        "longer is better",
        lambda r: 1e6 / r.median,
    ),
)
LINES = (
    ("calls", "Calls in flight", "µs for all of them"),
    ("message", "Bytes of a message", "µs for the message"),
    ("tools", "Tools in a list", "µs for tools/list"),
    ("tasks", "Background tasks", "µs to start and list all"),
)


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """A file for every chart that has something to show."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, benchmark, title, unit, value in BARS:
        rows = [(record.subject, value(record)) for record in records if record.benchmark == benchmark]
        rows = [row for row in rows if row[0] not in ("scorpio source", "scorpio, first start")] or rows
        if rows:
            drawn.append(_write(folder / f"{name}.svg", bars(title, unit, rows)))
    series = series_of(records)
    if series:
        drawn.append(_write(folder / "scaling.svg", "".join(panels(series))))
    return drawn


def _write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def bars(title: str, unit: str, rows: Sequence[tuple[str, float]]) -> str:
    """The best on top. Logarithmic: the slowest is often a hundred times the quickest."""
    values = [value for _, value in rows]
    low = 10 ** math.floor(math.log10(min(values)))
    high = 10 ** math.ceil(math.log10(max(values)) + 1e-9)
    span = math.log10(high / low) or 1.0
    room = WIDTH - LABEL - 90
    height = 62 + ROW * len(rows)
    parts = [
        _open(WIDTH, height, f"{title}, {unit}"),
        _text(12, 24, title, 16, weight=600),
        _text(12, 42, f"{unit}; logarithmic", 12),
    ]
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        x = LABEL + room * (power - math.log10(low)) / span
        parts.append(f'<path d="M{x:.1f} 52V{height - 8}" stroke="{GRID}"/>')
    for index, (name, value) in enumerate(sorted(rows, key=lambda row: row[1], reverse="longer" in unit)):
        y = 54 + ROW * index
        length = max(3.0, room * math.log10(value / low) / span)
        colour = OURS if name.startswith("scorpio") else BEST if name == "limit" else OTHERS
        shown = "C loop (limit)" if name == "limit" else name
        parts.append(
            _text(LABEL - 8, y + 15, shown, 13, anchor="end", weight=600 if name.startswith("scorpio") else 400)
        )
        parts.append(f'<rect x="{LABEL}" y="{y + 3}" width="{length:.1f}" height="{ROW - 9}" rx="2" fill="{colour}"/>')
        parts.append(_text(LABEL + length + 6, y + 15, number(value), 12))
    return "\n".join([*parts, "</svg>\n"])


def panels(series: dict[str, list[tuple[int, float]]]) -> Iterator[str]:
    """Two by two, both axes logarithmic; the dashed line is growth in proportion from the first point."""
    shown = [row for row in LINES if row[0] in series]
    width, height = WIDTH // 2, 250
    rows = -(-len(shown) // 2)
    yield _open(WIDTH, height * rows + 10, "How the cost grows")
    for index, (name, title, unit) in enumerate(shown):
        x, y = width * (index % 2), height * (index // 2)
        yield (
            f'<g transform="translate({x} {y})">' + "".join(_panel(title, unit, series[name], width, height)) + "</g>\n"
        )
    yield "</svg>\n"


def _panel(title: str, unit: str, points: Sequence[tuple[int, float]], width: int, height: int) -> Iterator[str]:
    left, right, top, bottom = 62, width - 20, 48, height - 30
    first, last = points[0], points[-1]
    in_proportion = first[1] * last[0] / first[0]
    costs = [cost for _, cost in points]
    low, high = _decades(min(costs), max(*costs, in_proportion))
    x_span = math.log10(last[0] / first[0]) or 1.0

    def place(point: tuple[float, float]) -> tuple[float, float]:
        across = left + (right - left) * math.log10(point[0] / first[0]) / x_span
        return across, bottom - (bottom - top) * (math.log10(point[1]) - low) / (high - low)

    yield _text(12, 22, title, 14, weight=600) + _text(12, 38, f"{unit}; dashed: in proportion", 11)
    for power in range(low, high + 1):
        y = place((first[0], 10**power))[1]
        yield f'<path d="M{left} {y:.1f}H{right}" stroke="{GRID}"/>' + _text(
            left - 6, y + 4, number(10**power), 10, "end"
        )
    (x0, y0), (x1, y1) = place(first), place((last[0], in_proportion))
    yield f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{INK}" stroke-dasharray="4 4"/>'
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in map(place, points))
    yield f'<path d="M{path}" stroke="{OURS}" stroke-width="2" fill="none"/>'
    for point in points:
        x, y = place(point)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{OURS}"/>' + _text(
            x, bottom + 18, number(point[0]), 10, "middle"
        )


def _decades(low: float, high: float) -> tuple[int, int]:
    first = math.floor(math.log10(low))
    return first, max(first + 1, math.ceil(math.log10(high)))


def number(value: float) -> str:
    """Three figures at most, large ones with k or M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def _open(width: int, height: int, title: str) -> str:
    box = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} {FONT} fill="{INK}" role="img"><title>{escape(title)}</title>\n'
    )


def _text(x: float, y: float, words: str, size: int, anchor: str = "start", weight: int = 400) -> str:
    style = f'font-size="{size}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'
