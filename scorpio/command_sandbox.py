"""What `--sandbox read-only` and `--sandbox workspace` mean for a command: which places, variables and network it has.

Starts nothing, and does not know tools. How a policy is enforced: scorpio/sandbox.py.
"""

from __future__ import annotations

import os
import stat

from scorpio.sandbox import ALLOWLIST, BUBBLEWRAP, Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from scorpio.sandbox import Backend

READ_ONLY, WORKSPACE = "read-only", "workspace"

OBEYED = (
    *(".gitmodules", ".mcp.json", ".vscode", ".idea", ".claude", ".codex", ".scorpio", ".scorpiox"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".config/fish"),
)
"""In a workspace: other programs do what these say, outside of any sandbox."""

OBEYED_BY_GIT = ("hooks", "config", "config.worktree", "modules")
"""In `.git`."""

SECRET_PLACES = (
    *(".ssh", ".gnupg", ".aws", ".config/gcloud", ".config/gh", ".kube", ".docker", ".netrc"),
    *(".git-credentials", ".pypirc", ".scorpio", ".scorpiox"),
)
"""In the home directory. Nobody needs them who has no network; what is there is of use to somebody who has."""


class Unconfinable(Exception):
    """No policy holds here: a sentence that says why and what to do."""


def secret_variable(name: str) -> bool:
    name = name.upper()
    return name.endswith(("_TOKEN", "_KEY")) or "SECRET" in name or "PASSWORD" in name


def policy_for(mode: str, cwd: str, state_root: str, *, network: bool) -> Policy:
    """Of a command that starts in `cwd`, resolved. Makes an empty `.git/hooks` where there is none. Unconfinable."""
    home = os.path.realpath(os.path.expanduser("~"))
    if mode == WORKSPACE and cwd == "/":
        raise Unconfinable(
            "The working directory is /, so that a workspace would be everything. Set SCORPIO_CWD to a project, or use "
            "--sandbox read-only."
        )
    hidden = [os.path.join(home, name) for name in SECRET_PLACES] + [state_root]
    hidden = [os.path.realpath(path) for path in hidden if os.path.exists(path)]
    if any(cwd == path for path in hidden):
        raise Unconfinable(f"The working directory {cwd} is one that the sandbox hides. Start in a project.")
    hidden = [path for path in dict.fromkeys(hidden) if not cwd.startswith(f"{path}/")]
    if mode == READ_ONLY:
        return Policy((), network=True, own_network=not network, read_only=(cwd,), hidden=hidden, private=True)
    writable, read_only = [cwd], [path for path in _obeyed(cwd) if path != cwd]
    git = os.path.join(cwd, ".git")
    if os.path.isdir(git) and git in read_only:
        read_only.remove(git)
        writable.append(git)  # a place of a mount cannot be moved away with what is read-only in it
    within = [path for path in read_only if path.startswith(f"{cwd.rstrip('/')}/")]
    return Policy(writable, network=True, own_network=not network, read_only=within, hidden=hidden, private=True)


def _obeyed(cwd: str) -> Iterator[str]:
    """What is there of it, resolved."""
    for path in names_obeyed(cwd):
        if os.path.lexists(path):
            yield os.path.realpath(path)


def names_obeyed(cwd: str) -> list[str]:
    """Paths in a workspace that other programs obey, there or not."""
    git = os.path.join(cwd, ".git")
    if os.path.isdir(git) and not os.path.islink(git):
        try:
            os.mkdir(os.path.join(git, "hooks"))  # empty it is nothing, and what is there can be kept read-only
        except OSError:
            pass
    places = [os.path.join(cwd, name) for name in OBEYED]
    return places + [git] + [os.path.join(git, name) for name in OBEYED_BY_GIT]


def within_plan(sandbox: Policy, plan: Policy, temporary: str) -> Policy:
    """What both allow: of the places of a plan, those in the workspace, and the plan's own temporary directory."""
    roots = sandbox.writable
    kept = [path for path in plan.writable if path == temporary or any(_is_in(path, root) for root in roots)]
    return Policy(
        kept,
        network=plan.network,
        own_network=sandbox.own_network,
        read_only=(*sandbox.read_only, *sandbox.writable),
        hidden=sandbox.hidden,
        private=True,
    )


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def signatures(cwd: str) -> dict[str, tuple[int, ...]]:
    """What of that which other programs obey is there, and which it is."""
    found: dict[str, tuple[int, ...]] = {}
    for path in names_obeyed(cwd):
        try:
            state = os.lstat(path)
        except OSError:
            continue
        since = state.st_mtime_ns if stat.S_ISLNK(state.st_mode) else 0  # a number is soon given to the next file
        found[path] = (state.st_dev, state.st_ino, stat.S_IFMT(state.st_mode), since)
    return found


def abilities(backend: Backend, mode: str, *, network: bool) -> list[str]:
    """What a command can and cannot do under it, a clause each, for a person."""
    if backend.kind == ALLOWLIST:
        return ["no sandbox works here, so that commands run without one, or with --sandbox-required not at all"]
    private = backend.kind == BUBBLEWRAP
    place = "the working directory" if mode == WORKSPACE else "nothing but temporary files"
    said = [f"it can write {place}" + (" and temporary files" if mode == WORKSPACE else "")]
    if backend.hides:
        kept = "git's hooks and configuration, and what editors, shells and agents obey (.vscode, .claude, .bashrc …)"
        said += [f"not {kept}, where it is there"] if mode == WORKSPACE else []
        said.append("it can read everything but keys and tokens (~/.ssh, ~/.aws, ~/.scorpio …)")
    else:
        said += ["git's hooks too"] if mode == WORKSPACE else []
        said.append("it can read everything, keys and tokens too")
    if network:
        said.append("it can use the network")
    else:
        said.append("no network" + (" but a loopback of its own" if private else ", not even loopback"))
    said.append("no Unix sockets")
    if private:
        said.append("it sees no process but its own")
    else:
        signals = "signal" if backend.abi < 6 else "not signal"
        said.append(f"it can see other processes, and {signals} them")
    return said
