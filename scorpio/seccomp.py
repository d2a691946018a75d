"""The seccomp filter of a sandbox: the system calls it refuses, as a classic BPF program.

Covers what neither Landlock nor a read-only mount refuses. Sees numbers only, never a path: what it refuses, it refuses
everywhere. Everything it does not name is allowed. Installs nothing.
"""

from __future__ import annotations

import errno
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Instruction = tuple[int, int, int, int]

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH of linux/audit.h. Calls by any other table of this machine (32-bit programs) end the process."""

X32_BIT = 0x40000000  # the same table on x86-64, by other numbers

METADATA = {
    # name: (x86_64, aarch64); 0: the table does not have it
    "chmod": (90, 0),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, 0),
    "lchown": (94, 0),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, 0),
    "utimes": (235, 0),
    "futimesat": (261, 0),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}
"""Change a file without opening it for writing: Landlock does not know them. A read-only mount refuses them itself."""

MOUNTS = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
}
"""Landlock refuses most of them, but not mount_setattr, which could make a mount writable again."""

ALWAYS = {
    "open_by_handle_at": (304, 265),  # opens without a path
}
ABSENT = {
    "io_uring_setup": (425, 425),  # would do all of the above past this filter; programs go on without it
}

SOCKET = (41, 198)
IOCTL = (16, 29)

AF_INET, AF_INET6, AF_NETLINK = 2, 10, 16
NETLINK_ROUTE = 0

IOCTL_TYPE_MASK = 0xFF00
IOCTL_TYPES = (0x5400, 0x8900, 0x2400)
"""Of terminals and plain descriptors ('T'), sockets, and one's own performance counters. Others reach file systems:
flags of files (chattr), snapshots; and devices."""
IOCTLS_REFUSED = (0x5412, 0x541C, 0x541D)
"""TIOCSTI, TIOCLINUX, TIOCCONS: type into a terminal, or take the console."""
IOCTLS = (0x2, 0x80086601, 0x80046601, 0x80087601, 0x801C581F, 0xC020660B, 0x40049409, 0x4020940D)
"""FIGETBSZ, FS_IOC_GETFLAGS, its 32-bit twin, FS_IOC_GETVERSION, FS_IOC_FSGETXATTR, FS_IOC_FIEMAP, and FICLONE and
FICLONERANGE, which need a descriptor that was opened for writing."""

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
ERRNO = 0x00050000

# linux/bpf_common.h: load a word, compare, mask, return.
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
# Places in struct seccomp_data: number, architecture, and the low words of the arguments.
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, (16, 24, 32)


def filter_program(machine: str, *, network: bool, metadata: bool, mounts: bool) -> bytes:
    """Instructions, 8 bytes each; empty where this machine's numbers are not known here.

    `network`: internet sockets are allowed. `metadata`, `mounts`: these groups of calls are refused.
    Unix sockets are always refused (a pair of them is not): behind each may be a program that writes for others, such
    as Docker's daemon or tmux, and a filter cannot see which.
    """
    if machine not in MACHINES:
        return b""
    table = list(MACHINES).index(machine)
    refused = {**ALWAYS, **(METADATA if metadata else {}), **(MOUNTS if mounts else {})}
    program: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, MACHINES[machine]),
        (RETURN, 0, 0, KILL_PROCESS),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32_BIT),
        _refuse(errno.ENOSYS),
    ]
    for calls, number in ((refused, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for call in (numbers[table] for numbers in calls.values() if numbers[table]):
            program += [(EQUAL, 0, 1, call), _refuse(number)]
    for numbers, rules in ((SOCKET, _sockets(network)), (IOCTL, _ioctls())):
        program += [(EQUAL, 0, len(rules), numbers[table]), *rules]
    program.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *each) for each in program)


def _sockets(network: bool) -> Sequence[Instruction]:
    allowed: list[Instruction] = [(LOAD, 0, 0, ARGUMENTS[0])]
    for family in (AF_INET, AF_INET6) if network else ():
        allowed += [(EQUAL, 0, 1, family), (RETURN, 0, 0, ALLOW)]
    return [
        *allowed,
        (EQUAL, 0, 3, AF_NETLINK),  # the machine's own addresses
        (LOAD, 0, 0, ARGUMENTS[2]),
        (EQUAL, 0, 1, NETLINK_ROUTE),
        (RETURN, 0, 0, ALLOW),
        _refuse(errno.EACCES),
    ]


def _ioctls() -> Sequence[Instruction]:
    rules: list[Instruction] = [(LOAD, 0, 0, ARGUMENTS[1])]
    for value in IOCTLS_REFUSED:
        rules += [(EQUAL, 0, 1, value), _refuse(errno.EPERM)]
    for value in IOCTLS:
        rules += [(EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW)]
    rules.append((AND, 0, 0, IOCTL_TYPE_MASK))
    for value in IOCTL_TYPES:
        rules += [(EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW)]
    return [*rules, _refuse(errno.EPERM)]


def _refuse(number: int) -> Instruction:
    return (RETURN, 0, 0, ERRNO | number)
