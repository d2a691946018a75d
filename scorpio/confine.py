"""Confines this process, and all that it will start: build/launcher/confine.h in Python, for runs from source.

What the strings mean stands there; keep the two alike. Linux only. Decides nothing, and a step that cannot be taken is
an OSError, so that nothing ever runs half confined.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Place = tuple[int, int, bytes]
    """Landlock access, kind, path."""

CONFINEMENT_FIELDS = 6
WRITABLE, EMPTY, EMPTY_FILE = 1, 2, 4
FILTER_DESCRIPTOR = 9

CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h
CAPABILITIES_MAX = 64
PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 23, 24, 38, 47, 4

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 0x1000, 0x4000, 0x40000
AT_FDCWD, AT_SYMLINK_NOFOLLOW, AT_RECURSIVE = -100, 0x100, 0x8000

SECCOMP_SET_MODE_FILTER = 1
LANDLOCK_RULE_PATH_BENEATH = 1

# The same numbers on every architecture that has them.
MOUNT_SETATTR, LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 442, 444, 445, 446
SECCOMP = {"x86_64": 317, "aarch64": 277}


def confine(strings: Sequence[bytes]) -> None:
    """Raises OSError for the first step that could not be taken, and for strings that are none of ours."""
    try:
        _confine(strings)
    except ValueError:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from None


def _confine(strings: Sequence[bytes]) -> None:
    files, network, scopes, namespace, kept, filter_text = strings[:CONFINEMENT_FIELDS]
    rest = strings[CONFINEMENT_FIELDS:]
    places = [(int(access), int(kind), path) for access, kind, path in zip(*[iter(rest)] * 3, strict=True)]
    if namespace:
        _read_only_namespace(places, with_user=namespace == b"user")
    if kept:
        _drop_capabilities(int(kept))
    _checked(_libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _restrict_files((int(files), int(network), int(scopes)), places)
    program = bytes.fromhex(filter_text.removeprefix(b">").decode("ascii"))
    if filter_text.startswith(b">"):
        _hand_over(program)
    elif program:
        _filter_calls(program)  # last: it forbids some of the above


def _read_only_namespace(places: Sequence[Place], *, with_user: bool) -> None:
    libc = _libc()
    user, group = os.geteuid(), os.getegid()
    _checked(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS if with_user else CLONE_NEWNS))
    if with_user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            file = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(file, text.encode())
            finally:
                os.close(file)
    _checked(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
    there = [(kind, path) for _, kind, path in places if kind and os.path.lexists(path)]
    for kind, path in there:
        if kind == EMPTY:
            _checked(libc.mount(b"tmpfs", path, b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=1777"))
        elif os.path.lexists(path):  # still: what it is in may have become empty
            source = b"/dev/null" if kind == EMPTY_FILE else path
            _checked(libc.mount(source, path, None, MS_BIND | MS_REC, None))
    _set_attributes(b"/", AT_RECURSIVE, MS_RDONLY, 0)
    for kind, path in there:
        if kind in (WRITABLE, EMPTY) and os.path.lexists(path):
            _set_attributes(path, AT_SYMLINK_NOFOLLOW, 0, MS_RDONLY)


def _set_attributes(path: bytes, flags: int, set_bits: int, clear_bits: int) -> None:
    attributes = struct.pack("QQQQ", set_bits, clear_bits, 0, 0)
    _call(MOUNT_SETATTR, AT_FDCWD, path, flags, attributes, len(attributes))


def _drop_capabilities(kept: int) -> None:
    libc = _libc()
    for each in range(CAPABILITIES_MAX):
        if kept >> each & 1 or libc.prctl(PR_CAPBSET_READ, each, 0, 0, 0) != 1:
            continue
        if libc.prctl(PR_CAPBSET_DROP, each, 0, 0, 0) < 0 and os.geteuid() == 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = struct.pack("Ii", CAPABILITY_VERSION_3, 0)
    sets = ctypes.create_string_buffer(24)  # twice effective, permitted, inheritable
    _checked(libc.capget(header, sets))
    kept_sets = [*struct.unpack("6I", sets.raw)]
    kept_sets[2] = kept_sets[5] = 0
    _checked(libc.capset(header, struct.pack("6I", *kept_sets)))


def _restrict_files(handled: tuple[int, int, int], places: Sequence[Place]) -> None:
    if not any(handled):
        return
    attributes = struct.pack("QQQ", *handled)
    rules = _call(LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for access, _, path in places:
            if not access or (path and not os.path.lexists(path)):
                continue
            place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC) if path else os.dup(1)
            try:
                _call(LANDLOCK_ADD_RULE, rules, LANDLOCK_RULE_PATH_BENEATH, struct.pack("=Qi", access, place), 0)
            finally:
                os.close(place)
        _call(LANDLOCK_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _hand_over(program: bytes) -> None:
    reading, writing = os.pipe()
    os.write(writing, program)
    os.close(writing)
    os.dup2(reading, FILTER_DESCRIPTOR)
    os.close(reading)


def _filter_calls(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    _call(SECCOMP[os.uname().machine], SECCOMP_SET_MODE_FILTER, 0, head)


def _call(number: int, *arguments: int | bytes) -> int:
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(int(_libc().syscall(ctypes.c_long(number), *passed)))


def _checked(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int | bytes) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
