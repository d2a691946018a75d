"""What is in the executable beside our code: whose it is, its terms, and its bill of materials."""

from __future__ import annotations

import json
import re
import subprocess
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry

import bill
import bundle
import freeze
from machine import Stop
from tests.links import ROOT, executable_under_test

LOCK = (ROOT / "requirements.txt").read_text("utf-8")


def installed(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:  # of another platform
        return None


LOCKED = [found for name in re.findall(r"^([\w.-]+)==", LOCK, re.MULTILINE) if (found := installed(name))]


def collected(*names: str) -> list[bundle.Collected]:
    """The files of some distributions, as PyInstaller names them."""
    rows = []
    for name in names:
        for file in metadata.distribution(name).files or ():
            if ".dist-info" not in file.parts[0] and file.suffix in (".py", ".so"):
                compiled = f"{file}c" if file.suffix == ".py" else str(file)
                rows.append(bundle.Collected(compiled, str(file.locate())))
    return rows


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Our sources, with a library of somebody else among them."""
    vendored = tmp_path / "tools" / "core" / "readability"
    vendored.mkdir(parents=True)
    (tmp_path / "scorpio").mkdir()
    (vendored / "LICENSE.md").write_text("Terms of readability.\n")
    (vendored / "Readability.js").write_text("0")
    return tmp_path


@pytest.mark.requirement("release:terms")
@pytest.mark.parametrize("distribution", LOCKED, ids=lambda each: each.name)
def test_every_library_that_may_be_bundled_has_a_licence_text(distribution: metadata.Distribution) -> None:
    component = bundle.of_distribution(distribution)
    assert max(map(len, component.texts)) > 500, "that is no licence"


def test_files_are_traced_to_their_owners(root: Path) -> None:
    rows = [
        *collected("orjson", "slixmpp"),
        bundle.Collected("json/decoder.pyc", "/anywhere/localpycs/json/decoder.pyc"),
        bundle.Collected("scorpio/app.pyc", "/anywhere/scorpio/app.pyc"),
        bundle.Collected("tools/core/readability/Readability.js", str(root / "tools/core/readability/Readability.js")),
    ]
    found = {each.name: each for each in bundle.components(rows, root, launcher=False)}
    assert {"CPython", "orjson", "slixmpp", "readability", "pyinstaller"} <= found.keys()
    assert not found.keys() - {"CPython", "orjson", "slixmpp", "readability", "pyinstaller", *bundle.BUILT_IN.values()}
    assert found["readability"].texts == ("Terms of readability.\n",)
    assert found["orjson"].purl == f"pkg:pypi/orjson@{metadata.version('orjson')}"


def test_a_vendored_folder_that_is_not_collected_is_not_named(root: Path) -> None:
    assert "readability" not in [each.name for each in bundle.components([], root, launcher=False)]


@pytest.mark.requirement("release:terms")
def test_a_file_of_unknown_origin_stops_the_build(root: Path) -> None:
    stranger = root / "libstranger.so.1"
    stranger.touch()
    with pytest.raises(Stop, match=f"{stranger} would be in the executable, and no package says whose it is"):
        bundle.components([bundle.Collected("libstranger.so.1", str(stranger))], root, launcher=False)


@pytest.mark.requirement("release:terms")
def test_a_component_without_a_text_stops_the_build(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "SUPPLIED", ROOT / "build" / "no-such-folder")
    with pytest.raises(Stop, match="jsonschema_rs brings no licence text"):
        bundle.components(collected("jsonschema_rs"), root, launcher=False)


@pytest.mark.requirement("release:locked")
def test_a_library_of_the_tests_stops_the_build(root: Path) -> None:
    with pytest.raises(Stop, match=r"hypothesis would be in the executable, and requirements\.txt does not lock it"):
        bundle.components(collected("orjson", "hypothesis"), root, launcher=False)


def test_a_library_of_debian_brings_the_common_licences_it_refers_to() -> None:
    if not Path("/usr/share/common-licenses/LGPL-2.1").is_file():
        pytest.skip("not Debian")
    found = [each for each in bundle.components([], ROOT, launcher=True) if each.name.startswith("libc6")]
    (glibc,) = found
    assert glibc.purl.startswith("pkg:deb/debian/libc6")
    assert any(text.lstrip().startswith("GNU LESSER GENERAL PUBLIC LICENSE") for text in glibc.texts)


def test_a_package_of_rpm_is_named_with_the_texts_of_its_siblings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in for rpm, which answers as AlmaLinux's does: libstdc++ has no text of its own, libgcc has."""
    text = tmp_path / "COPYING"
    text.write_text("GNU GENERAL PUBLIC LICENSE\n")
    rpm = tmp_path / "rpm"
    rpm.write_text(
        "#!/bin/sh\n"
        'case "$1 $2" in\n'
        '"-qf --queryformat") printf "libstdc++\\n8.5.0-28\\nx86_64\\nGPLv3+ with exceptions\\nhttps://gcc\\ngcc-8.5.0.src.rpm\\n";;\n'
        '"-qa --queryformat") printf "libgcc gcc-8.5.0.src.rpm\\nzlib zlib-1.2.src.rpm\\n";;\n'
        f'"-q --licensefiles") if [ "$3" = libgcc ]; then echo {text}; fi;;\n'
        "esac\n"
    )
    rpm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    component = bundle.of_package("/usr/lib64/libstdc++.so.6")
    assert component is not None
    assert (component.name, component.version, component.licence) == ("libstdc++", "8.5.0-28", "GPLv3+ with exceptions")
    assert component.texts == ("GNU GENERAL PUBLIC LICENSE\n",)


# The text


def test_a_text_that_two_share_is_printed_once() -> None:
    terms = "The same long terms.\n"
    one, two = (bundle.Component(name, "1", "MIT", f"pkg:generic/{name}", "", (terms,)) for name in ("one", "two"))
    text = bundle.licence_texts([one, two], "1.2.3", "Our own terms.")
    assert text.count(terms) == 1
    assert "(A text that stands above, at one 1.)" in text
    assert text.index("Our own terms.") < text.index("one 1\n") < text.index(terms) < text.index("two 1\n")


def test_what_is_inside_a_compiled_library_is_named_with_its_terms() -> None:
    text = bundle.licence_texts([bundle.of_distribution(metadata.distribution("orjson"))], "1.2.3", "")
    (inside,) = [line for line in text.splitlines() if line.startswith("Inside it: ")]
    assert re.search(r"itoap \S+ \(MIT\)", inside)


@pytest.mark.requirement("release:terms")
def test_the_executable_holds_the_terms_of_every_library_in_it(tmp_path: Path) -> None:
    executable = executable_under_test()
    environment = {"SCORPIO_CACHE_DIR": str(tmp_path), "SCORPIO_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    subprocess.run([executable, "--version"], env=environment, check=True, capture_output=True)
    (copy,) = tmp_path.glob("app-*")
    text = (copy / freeze.LICENCES).read_text("utf-8")
    owned = bundle.files_of_distributions()
    names = [path.relative_to(copy / "lib").as_posix() for path in (copy / "lib").rglob("*") if path.is_file()]
    bundled = {owner.name: owner.version for name in names if (owner := owned.get(bundle.as_source(name)))}
    assert "orjson" in bundled
    assert [f"{name} {version}" for name, version in bundled.items() if f"\n{name} {version}\n" not in text] == []
    assert (ROOT / "LICENSE").read_text("utf-8") in text


# The bill of materials


def cyclonedx() -> jsonschema.Draft7Validator:
    folder = files("cyclonedx.schema") / "_res"
    names = ("bom-1.6.SNAPSHOT.schema.json", "spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json")
    schemas: dict[str, Any] = {name: json.loads((folder / name).read_text("utf-8")) for name in names}
    registry: Registry[Any] = Registry().with_contents(
        (f"http://cyclonedx.org/schema/{name}", schema) for name, schema in schemas.items()
    )
    return jsonschema.Draft7Validator(schemas[names[0]], registry=registry)


@pytest.mark.requirement("release:bill")
def test_the_bill_of_all_libraries_is_what_cyclonedx_defines() -> None:
    components = [bundle.of_distribution(each) for each in LOCKED]
    made = bill.materials(components, "1.2.3", "0" * 64)
    assert list(cyclonedx().iter_errors(made)) == []
    assert [each["name"] for each in made["components"]] == [each.name for each in components]
    assert list(cyclonedx().iter_errors(made | {"specVersion": "1.6", "components": [{"name": "no type"}]})) != []


def test_the_bill_has_the_executables_own_sum_and_what_each_part_holds() -> None:
    made = bill.materials([bundle.of_distribution(metadata.distribution("orjson"))], "1.2.3", "ab" * 32)
    assert made["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    (orjson,) = made["components"]
    assert orjson["licenses"] == [{"expression": "MPL-2.0 AND (Apache-2.0 OR MIT)"}]
    assert {"name", "version", "type", "licenses"} <= orjson["components"][0].keys()
    assert "file:" not in json.dumps(made)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("MIT", {"expression": "MIT"}),
        ("Apache-2.0 OR BSD-3-Clause", {"expression": "Apache-2.0 OR BSD-3-Clause"}),
        ("BSD License", {"license": {"name": "BSD License"}}),
        ("GPLv3+ with exceptions", {"license": {"name": "GPLv3+ with exceptions"}}),
        ("BSD-3-Clause, Apache-2.0", {"license": {"name": "BSD-3-Clause, Apache-2.0"}}),
    ],
)
def test_words_that_are_no_spdx_expression_stay_words(said: str, written: dict[str, Any]) -> None:
    component = bundle.Component("x", "1", said, "pkg:generic/x", "", ("text",))
    (entry,) = bill.materials([component], "1.2.3", "0" * 64)["components"]
    assert entry["licenses"] == [written]
