"""Skills as the extension io.modelcontextprotocol/skills shows them: entries with digests, directories, contents.

Source: the extension's specification/stable/skills. A skill that does not keep to it is not on the shelf: hosts would
refuse it, and what they are told of the others must stay true. Reads files, so it is for a thread of its own.
"""

from __future__ import annotations

import _thread
import os
import re

from scorpio.front_matter import front_matter
from scorpio.limits import (
    SKILL_FOLDER_BYTES_MAX,
    SKILL_FOLDER_FILE_BYTES_MAX,
    SKILL_FRONT_MATTER_BYTES_MAX,
    SKILLS_PAGE_BYTES_MAX,
)
from scorpio.protocol.meta import SKILL_SCHEME
from scorpio.skill_folder import FILE_NAME, Refused, children, files_of, read_file, signature_of
from scorpio.yaml_flow import NotPlain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from scorpio.skill_folder import Files, Signature, SkillFolder

DIRECTORY = "inode/directory"
MARKDOWN = "text/markdown"
NAME = re.compile(r"(?!.*--)[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
"""Source: the Agent Skills format."""

KEPT_MAX = 8192
"""Files whose digest is kept: the files of some hundred skills. Then the oldest is computed again when it is wanted."""

ENTRY_BYTES = 120
"""Of one file in an entry beside its URI: digest, size and their names."""

TYPES = {
    **dict.fromkeys(("md", "markdown"), MARKDOWN),
    **dict.fromkeys(
        ("txt", "toml", "ini", "cfg", "sql", "sh", "bash", "rb", "go", "rs", "c", "h", "java"), "text/plain"
    ),
    "py": "text/x-python",
    "js": "text/javascript",
    "mjs": "text/javascript",
    "ts": "text/plain",
    "css": "text/css",
    "html": "text/html",
    "htm": "text/html",
    "csv": "text/csv",
    "xml": "application/xml",
    "svg": "image/svg+xml",
    "json": "application/json",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "pdf": "application/pdf",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "zip": "application/zip",
    "ttf": "font/ttf",
    "otf": "font/otf",
    "woff2": "font/woff2",
}
"""By the end of a name; a table of the machine's would say something else on each."""

TEXT_TYPES = ("text/", "application/json", "application/yaml", "application/xml", "image/svg+xml")


class Unknown(Exception):
    """A URI that nothing is served at: a sentence."""


class Shelf:
    """One a server. Its methods may run in several threads at once."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._digests: dict[str, tuple[Signature, tuple[str, int]]] = {}
        """By resolved path."""
        self._fronts: dict[str, tuple[Signature, dict[str, Any]]] = {}

    def page(
        self, folders: Sequence[SkillFolder], after: str | None
    ) -> tuple[list[dict[str, Any]], str, dict[str, str]]:
        """Entries of those behind the one named `after`, the last name where there are more, and who is left out, why.

        Raises Unknown for a name that is not there (any more).
        """
        names = [folder.name for folder in folders]
        if after is not None and after not in names:
            raise Unknown("Unknown cursor: the skills have changed. Begin with the first page again.")
        entries: list[dict[str, Any]] = []
        left_out: dict[str, str] = {}
        size = 0
        for folder in folders[0 if after is None else names.index(after) + 1 :]:
            if size > SKILLS_PAGE_BYTES_MAX:
                return entries, _name(entries[-1]["uri"]), left_out
            try:
                entries.append(self.entry(folder))
            except Refused as reason:
                left_out[folder.name] = str(reason)
                continue
            size += sum(len(item["uri"]) + ENTRY_BYTES for item in entries[-1]["resources"])
        return entries, "", left_out

    def entry(self, folder: SkillFolder) -> dict[str, Any]:
        """Raises Refused."""
        files = files_of(folder)
        front = self._front(folder, files)
        resources = []
        for path, real in files.paths.items():
            digest, size = self._digest(real)
            resources.append({"uri": uri_of(folder.name, path), "digest": digest, "size": size})
        return {"uri": uri_of(folder.name, FILE_NAME), "frontmatter": front, "resources": resources}

    def resource(self, folder: SkillFolder) -> dict[str, Any]:
        """Its SKILL.md for `resources/list`. Raises Refused."""
        front = self._front(folder, files_of(folder))
        return {
            "uri": uri_of(folder.name, FILE_NAME),
            "name": folder.name,
            "title": f"Skill {folder.name}",
            "description": front["description"],
            "mimeType": MARKDOWN,
        }

    def directory(self, folders: Sequence[SkillFolder], uri: str) -> list[dict[str, Any]]:
        """What stands directly in a directory. Raises Unknown."""
        folder, files, path = self._found(folders, uri)
        if path is not None and path in files.paths:
            raise Unknown(f"{uri[:200]} is a file. resources/read reads it.")
        if path is None or path not in files.directories or uri.endswith("/"):
            raise Unknown(f"No directory is served at {uri[:200]}.")
        below = path + "/" if path else ""
        return [
            self.resource(folder) if below + name == FILE_NAME else _child(folder.name, below + name, is_directory)
            for name, is_directory in children(files, path).items()
        ]

    def contents(self, folders: Sequence[SkillFolder], uri: str) -> list[dict[str, Any]]:
        """The bytes of one file, as text where they are. Raises Unknown."""
        folder, files, path = self._found(folders, uri)
        if path is None or path not in files.paths:
            if path in files.directories:
                raise Unknown(f"{uri[:200]} is a directory. resources/directory/read lists it.")
            why = files.left_out.get(path or "", "is no file of that skill")
            raise Unknown(f"{uri[:200]} {why}.")
        try:
            content, _, _ = read_file(files.paths[path], SKILL_FOLDER_FILE_BYTES_MAX, SKILL_FOLDER_FILE_BYTES_MAX)
        except Refused as reason:
            raise Unknown(f"{uri[:200]} {reason}.") from None
        return [{"uri": uri_of(folder.name, path), **_shown(content, path)}]

    def skill(self, folders: Sequence[SkillFolder], uri: str) -> dict[str, Any]:
        """The entry of the skill whose SKILL.md has this URI. Raises Unknown."""
        name, path = split(uri)
        folder = next((folder for folder in folders if folder.name == name), None)
        if folder is None or path != FILE_NAME:
            raise Unknown(f"No skill is served at {uri[:200]}.")
        try:
            return self.entry(folder)
        except Refused as reason:
            raise Unknown(f"The skill {name} is not served: its folder {reason}.") from None

    def _found(self, folders: Sequence[SkillFolder], uri: str) -> tuple[SkillFolder, Files, str | None]:
        name, path = split(uri)
        folder = next((folder for folder in folders if folder.name == name), None)
        if folder is None:
            raise Unknown(f"No skill is served at {uri[:200]}.")
        try:
            files = files_of(folder)
            self._front(folder, files)
        except Refused as reason:
            raise Unknown(f"The skill {name} is not served: its folder {reason}.") from None
        return folder, files, path

    def _front(self, folder: SkillFolder, files: Files) -> dict[str, Any]:
        """The front matter as JSON. Raises Refused where it is not one that hosts take."""
        front: dict[str, Any] = self._made(self._fronts, files.paths[FILE_NAME], FILE_NAME, _front_of)
        if front.get("name") != folder.name or not NAME.fullmatch(folder.name):
            raise Refused(
                f"and the name in its {FILE_NAME} are not the same name of lowercase letters, digits and single hyphens"
            )
        return front

    def _digest(self, path: str) -> tuple[str, int]:
        found: tuple[str, int] = self._made(self._digests, path, "file", _digest_of)
        return found

    def _made(self, kept: dict[str, Any], path: str, what: str, make: Callable[[str], tuple[Signature, Any]]) -> Any:
        """What `make` makes of a file, kept as long as the file is the same. Raises Refused."""
        try:
            signature = signature_of(os.stat(path))
        except OSError as error:
            raise Refused(f"has a {what} that cannot be looked at: {error.strerror}") from None
        known = kept.get(path)
        if known is None or not signature or known[0] != signature:
            known = make(path)
            self._keep(kept, path, known)
        return known[1]

    def _keep(self, kept: dict[str, Any], key: str, value: Any) -> None:
        with self._lock:
            kept.pop(key, None)
            kept[key] = value
            if len(kept) > KEPT_MAX:
                del kept[next(iter(kept))]


def uri_of(name: str, path: str) -> str:
    """Names that are no UTF-8 keep their bytes: %FF."""
    from urllib.parse import quote

    return f"{SKILL_SCHEME}{name}/{quote(os.fsencode(path))}"


def split(uri: str) -> tuple[str, str | None]:
    """The skill's name and the path in its folder, "" for itself; None for what is no path."""
    from urllib.parse import unquote_to_bytes

    name, slash, path = uri.removeprefix(SKILL_SCHEME).partition("/")
    if not uri.startswith(SKILL_SCHEME) or "?" in path or "#" in path or (slash and not path):
        return name, None
    return name, os.fsdecode(unquote_to_bytes(path))


def _name(uri: str) -> str:
    return split(uri)[0]


def _digest_of(path: str) -> tuple[Signature, tuple[str, int]]:
    import hashlib

    content, _, signature = read_file(path, SKILL_FOLDER_FILE_BYTES_MAX, SKILL_FOLDER_FILE_BYTES_MAX)
    return signature, (f"sha256:{hashlib.sha256(content).hexdigest()}", len(content))


def _front_of(path: str) -> tuple[Signature, dict[str, Any]]:
    content, _, signature = read_file(path, SKILL_FRONT_MATTER_BYTES_MAX, SKILL_FOLDER_BYTES_MAX)
    return signature, _parsed(content)


def _parsed(content: bytes) -> dict[str, Any]:
    """Raises Refused."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as fault:
        if fault.reason != "unexpected end of data" or len(content) < SKILL_FRONT_MATTER_BYTES_MAX:
            raise Refused(f"has a {FILE_NAME} that is not text in UTF-8") from None
        text = content[: fault.start].decode("utf-8")  # the last character read is half of one
    try:
        front = front_matter(text)
    except NotPlain as why:
        raise Refused(f"has a {FILE_NAME} that {why}") from None
    for key in ("name", "description"):
        if type(front.get(key)) is not str or not front[key]:
            raise Refused(f"has a {FILE_NAME} whose front matter has no {key}")
    return front


def _type(path: str) -> str:
    return TYPES.get(path.rpartition(".")[2].lower(), "")


def _child(name: str, path: str, is_directory: bool) -> dict[str, Any]:
    shown = os.fsencode(path.rpartition("/")[2]).decode("utf-8", "replace")
    kind = DIRECTORY if is_directory else _type(path)
    return {"uri": uri_of(name, path), "name": shown} | ({"mimeType": kind} if kind else {})


def _shown(content: bytes, path: str) -> dict[str, Any]:
    kind = _type(path)
    if not kind or kind.startswith(TEXT_TYPES):
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            if kind or "\0" not in text:
                return {"mimeType": kind or "text/plain", "text": text}
    from base64 import b64encode

    return {"mimeType": kind or "application/octet-stream", "blob": b64encode(content).decode()}
