"""The executable's bill of materials: a CycloneDX document of what bundle.py found.

Says nothing of the time or the machine: the same executable has the same bill. release.py adds the time of the commit.
"""

from __future__ import annotations

import re
from typing import Any

from bundle import Component

SPEC_VERSION = "1.6"
ROOT_REFERENCE = "scorpio"
SPDX_EXPRESSION = re.compile(r"\(?[A-Za-z0-9.+-]+\)?(?: (?:AND|OR|WITH) \(?[A-Za-z0-9.+-]+\)?)*")
SPDX_LIKE = re.compile(
    r"(0BSD|Apache-|BSD-|BSL-|CC0-|ISC|LGPL-|GPL-|MIT|MPL-|OFL-|PSF-|Python-|Unicode-|Unlicense|Zlib)"
)


def materials(found: list[Component], version: str, sha256: str) -> dict[str, Any]:
    """`sha256` (hex) is the executable's."""
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC_VERSION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": ROOT_REFERENCE,
                "name": "scorpio",
                "version": version,
                "licenses": [{"license": {"id": "MIT"}}],
                "hashes": [{"alg": "SHA-256", "content": sha256}],
                "purl": f"pkg:pypi/scorpio-mcp@{version}",
            }
        },
        "components": [_component(component) for component in found],
        "dependencies": [
            {"ref": ROOT_REFERENCE, "dependsOn": sorted(component.purl for component in found)},
            *({"ref": purl} for purl in sorted(component.purl for component in found)),
        ],
    }


def _component(component: Component) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "library",
        "bom-ref": component.purl,
        "name": component.name,
        "version": component.version,
        "purl": component.purl,
    }
    if component.licence:
        entry["licenses"] = [_licence(component.licence)]
    if component.source_address.startswith("http"):
        entry["externalReferences"] = [{"type": "website", "url": component.source_address}]
    if component.inside:
        entry["components"] = list(component.inside)
    return entry


def _licence(said: str) -> dict[str, Any]:
    """As an expression where it is one of SPDX's, else in the packager's words."""
    if SPDX_EXPRESSION.fullmatch(said) and SPDX_LIKE.match(said.lstrip("(")):
        return {"expression": said}
    return {"license": {"name": said}}
