"""SVG drawings: rewritten without references to other files, then rasterised by resvg.

Runs in the decoder process only. resvg has no network, yet it opens every local file that an `href` names, so no
such reference may reach it: what is drawn is shown to a model, and a drawing may come from anywhere.
"""

from __future__ import annotations

import io
import os
import re
from xml.etree import ElementTree as ET

from PIL import Image

from tools.core.limits import IMAGE_SIDE_PIXELS_MAX
from tools.core.read_image import raster, signatures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader
    from typing import Any

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_NOWHERE = "/dev/null"
"""`resources_dir` of resvg: relative paths end there, because it is no directory."""

_UNITS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 96 / 2.54, "mm": 9.6 / 2.54, "em": 16.0}
_LENGTH = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,2})?)([a-z]*)\s*")
_SERIF = re.compile(r"(?<!sans-)\bserif\b|Times|Georgia|Garamond|Palatino")

_FONT_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.local/share/fonts",
    "~/.fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "~/Library/Fonts",
    "C:\\Windows\\Fonts",
)
_FONT_FILES_MAX = 5000
_FAMILIES = {
    "sans_serif_family": {
        "arial.ttf": "Arial",
        "liberationsans-regular.ttf": "Liberation Sans",
        "dejavusans.ttf": "DejaVu Sans",
        "notosans-regular.ttf": "Noto Sans",
        "opensans-regular.ttf": "Open Sans",
        "roboto-regular.ttf": "Roboto",
        "freesans.ttf": "FreeSans",
        "freesans.otf": "FreeSans",
    },
    "serif_family": {
        "times new roman.ttf": "Times New Roman",
        "times.ttf": "Times New Roman",
        "liberationserif-regular.ttf": "Liberation Serif",
        "dejavuserif.ttf": "DejaVu Serif",
        "notoserif-regular.ttf": "Noto Serif",
        "freeserif.ttf": "FreeSerif",
        "freeserif.otf": "FreeSerif",
    },
    "monospace_family": {
        "courier new.ttf": "Courier New",
        "cour.ttf": "Courier New",
        "liberationmono-regular.ttf": "Liberation Mono",
        "dejavusansmono.ttf": "DejaVu Sans Mono",
        "notosansmono-regular.ttf": "Noto Sans Mono",
        "freemono.ttf": "FreeMono",
        "freemono.otf": "FreeMono",
    },
}
"""File -> family, the preferred first. resvg knows no substitutes: text in a missing family is left out."""


def drawn(file: BufferedReader) -> tuple[dict[str, Any], bytes]:
    """As raster.converted. Raises raster.Undecodable; MemoryError."""
    try:
        import resvg_py
    except ImportError:
        raise raster.Undecodable("was not drawn: this build has no SVG renderer.") from None
    try:
        root = ET.parse(file).getroot()
    except (ET.ParseError, LookupError, ValueError) as fault:
        raise raster.Undecodable(f"was not drawn: it is not well-formed XML ({fault}).") from None
    notes: list[str] = []
    removed = remove_references(root)
    if removed:
        notes.append(f"{removed} reference{'s' if removed > 1 else ''} to other files or addresses not followed.")
    size = natural_size(root)
    bound = _bound(size)
    try:
        source = _source(root)
        png = resvg_py.svg_to_bytes(
            source, background="white", resources_dir=_NOWHERE, dpi=96.0, **bound, **_fonts(root, source, notes)
        )
        image = Image.open(io.BytesIO(png), formats=["PNG"]).convert("RGB")
    except (OSError, RecursionError, ValueError) as fault:
        raise raster.Undecodable(f"was not drawn: {fault}.") from None
    notes.append("Drawn on white.")
    width, height = (max(1, round(side)) for side in size) if size else image.size
    original = (width, height) if bound else image.size
    image.thumbnail((IMAGE_SIDE_PIXELS_MAX, IMAGE_SIDE_PIXELS_MAX))
    data_mime_type, data = raster.encoded(image, signatures.SVG, original, notes)
    return {"width": width, "height": height, "mime_type": data_mime_type, "notes": notes}, data


def _source(root: ET.Element) -> str:
    """The document without comments, document type and entities, which the parser has resolved."""
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    return ET.tostring(root, encoding="unicode")


def remove_references(root: ET.Element) -> int:
    """Drop every `href` that leads out of the document; the number dropped, hyperlinks not counted."""
    removed = 0
    for element in root.iter():
        for name in [n for n in element.attrib if _local(n) == "href"]:
            if not element.attrib[name].strip().lower().startswith(("#", "data:")):
                del element.attrib[name]
                removed += _local(element.tag) != "a"
    return removed


def _local(name: object) -> str:
    return name.rpartition("}")[2] if isinstance(name, str) else ""


def natural_size(root: ET.Element) -> tuple[float, float] | None:
    """(width, height) in pixels by the root's attributes; None when they do not tell both."""
    box = re.split(r"[\s,]+", root.get("viewBox", "").strip())
    try:
        box_width, box_height = (float(box[2]), float(box[3])) if len(box) == 4 else (0.0, 0.0)
    except ValueError:
        box_width = box_height = 0.0
    width, height = _pixels(root.get("width")), _pixels(root.get("height"))
    if box_width > 0 and box_height > 0:
        if width is None and height is None:
            width, height = box_width, box_height
        elif width is None and height is not None:
            width = height * box_width / box_height
        elif height is None and width is not None:
            height = width * box_height / box_width
    return (width, height) if width and height else None


def _pixels(length: str | None) -> float | None:
    match = _LENGTH.fullmatch(length or "")
    return float(match[1]) * _UNITS[match[2]] if match and match[2] in _UNITS else None


def _bound(size: tuple[float, float] | None) -> dict[str, Any]:
    """resvg's option that keeps the longer side within IMAGE_SIDE_PIXELS_MAX, if it needs one."""
    if size is None or max(size) <= IMAGE_SIDE_PIXELS_MAX:
        return {}
    return {"width" if size[0] >= size[1] else "height": IMAGE_SIDE_PIXELS_MAX}


def _fonts(root: ET.Element, source: str, notes: list[str]) -> dict[str, Any]:
    """resvg's options for the generic families, by what is installed; none for a drawing without text."""
    if not any(_local(element.tag) == "text" for element in root.iter()):
        return {"skip_system_fonts": True}
    installed = _installed()
    found = {
        option: family
        for option, files in _FAMILIES.items()
        if (family := next((family for file, family in files.items() if file in installed), None))
    }
    if not found:
        notes.append("Text may be missing, because no font of a known name is installed.")
        return {}
    any_family = next(iter(found.values()))
    families = {option: found.get(option, any_family) for option in _FAMILIES}
    sans_serif = families["sans_serif_family"]
    if not _SERIF.search(source):  # resvg falls back on serif; drawings that name a missing font mean a sans one
        families["serif_family"] = sans_serif
    return {**families, "cursive_family": sans_serif, "fantasy_family": sans_serif, "font_family": sans_serif}


def _installed() -> set[str]:
    """Names of the font files in the usual folders, in lower case."""
    names: set[str] = set()
    for folder in _FONT_FOLDERS:
        for _, _, files in os.walk(os.path.expanduser(folder)):
            names.update(name.lower() for name in files)
            if len(names) > _FONT_FILES_MAX:
                return names
    return names
