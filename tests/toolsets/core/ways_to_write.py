"""Ways to change a tree, each a bash command run in it; a process outside that would do it for others; and the tree.

`ways` holds those that do change the tree where nothing confines them: a test shows that of each.
Run as a program it is that other process: see `Accomplice`.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PYTHON = "python3 -I -S -c"

WAYS = {
    "touch a new file": "touch new",
    "touch an old one": "touch f",
    "set times": "touch -d @86400 f",
    "redirect": "echo x > f",
    "append": "echo x >> f",
    "truncate by redirection": ": > f",
    "truncate": "truncate -s 1 f",
    "open for reading with O_TRUNC": f"{PYTHON} 'import os; os.open(\"f\", os.O_RDONLY | os.O_TRUNC)'",
    "rm": "rm -f f",
    "rmdir": "rmdir empty",
    "mkdir": "mkdir new",
    "mv": "mv f g",
    "mv a directory": "mv d e",
    "mv from the temporary directory": 'echo x > "$TMPDIR/r"; mv "$TMPDIR/r" f',
    "mv to the temporary directory": 'mv f "$TMPDIR/moved-$$"',
    "rename over": f'echo x > "$TMPDIR/r"; {PYTHON} \'import os; os.rename(os.environ["TMPDIR"] + "/r", "f")\'',
    "hard link": "ln f new",
    "hard link into the temporary directory": 'ln f "$TMPDIR/l-$$"; echo x > "$TMPDIR/l-$$"',
    "symbolic link": "ln -s f new",
    "write through a symbolic link": 'ln -sf "$PWD/f" "$TMPDIR/s"; echo x > "$TMPDIR/s"',
    "chmod": "chmod 777 f",
    "fchmod": f"{PYTHON} 'import os; os.fchmod(os.open(\"f\", os.O_RDONLY), 0o777)'",
    "fchmodat2": f"{PYTHON} 'import ctypes; ctypes.CDLL(None).syscall(452, -100, b\"f\", 0o777, 0)'",
    "chown": 'chown "$(id -u):$(id -g)" f',
    "utime": f"{PYTHON} 'import os; os.utime(\"f\", (1, 1))'",
    "extended attribute": f'{PYTHON} \'import os; os.setxattr("f", "user.x", b"y")\'',
    "remove an extended attribute": f'{PYTHON} \'import os; os.removexattr("marked", "user.mark")\'',
    "chattr": "chattr +d f",
    "cp": "cp /etc/passwd f",
    "install": "install -m 700 /etc/passwd new",
    "tee": "echo x | tee f",
    "dd": "dd if=/dev/zero of=f bs=1 count=3 conv=notrunc",
    "sed -i": "sed -i s/a/b/ f",
    "awk": 'awk \'BEGIN { print "x" > "f" }\'',
    "fallocate": "fallocate -l 5000 f",
    "python": f'{PYTHON} \'open("f", "w").write("x")\'',
    "perl": 'perl -e \'open(F, ">", "f"); print F "x"\'',
    "mmap": f'{PYTHON} \'import mmap; f = open("f", "r+b"); m = mmap.mmap(f.fileno(), 0); m[0:1] = b"x"\'',
    "O_TMPFILE": f'{PYTHON} \'import ctypes, os; n = os.open(".", os.O_TMPFILE | os.O_WRONLY); '
    'ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % n, -100, b"new", 0x400)\'',
    "exchange": 'echo x > "$TMPDIR/r"; ' + f"{PYTHON} 'import ctypes, os; ctypes.CDLL(None).renameat2("
    '-100, (os.environ["TMPDIR"] + "/r").encode(), -100, b"f", 2)\'',
    "git commit": "git -c user.name=x -c user.email=x@y commit --allow-empty -qm more",
    "git checkout": "git checkout -q -b other",
    "git stash": "echo x >> f; git stash -q",
    "git init": "git init -q new",
    "tar": 'mkdir -p "$TMPDIR/t" && echo x > "$TMPDIR/t/f" && tar -C "$TMPDIR/t" -c f | tar -x',
    "patch by a here-document": "cat > f <<'END'\nx\nEND",
    "a shell in a shell": "bash -c 'sh -c \"echo x > f\"'",
    "a child of its own session": "setsid sh -c 'echo x > f' & wait",
    "a child that nobody waits for": "(setsid sh -c 'echo x > f' &) ; for i in 1 2 3 4 5 6 7 8 9; do :; done; wait",
    "a process substitution": "echo x | tee >(cat > f) > /dev/null; wait",
    "/proc/self/fd": "exec 3<f; echo x > /proc/self/fd/3",
    "/proc/self/root": 'echo x > "/proc/self/root$PWD/f"',
    "/proc/self/cwd": "echo x > /proc/self/cwd/f",
    "the root of the accomplice": 'echo x > "/proc/$ACCOMPLICE/root$PWD/f"',
    "the working directory of the accomplice": 'echo x > "/proc/$ACCOMPLICE/cwd/f"',
    "a descriptor of the accomplice": 'echo x > "/proc/$ACCOMPLICE/fd/$ACCOMPLICE_FD"',
    "a stolen descriptor": f"{PYTHON} 'import ctypes, os; e = os.environ; "
    'n = ctypes.CDLL(None).syscall(438, os.pidfd_open(int(e["ACCOMPLICE"])), int(e["ACCOMPLICE_FD"]), 0); '
    'os.write(n, b"x")\'',
    "memory of the accomplice": f"{PYTHON} 'import os; e = os.environ; "
    'm = os.open("/proc/%s/mem" % e["ACCOMPLICE"], os.O_WRONLY); os.pwrite(m, b"y", int(e["ACCOMPLICE_AT"]))\'; '
    "sleep 0.3",
    "process_vm_writev": f'{PYTHON} \'import ctypes as c, os; e = os.environ; b = c.create_string_buffer(b"y"); '
    'p = (c.c_size_t * 2)(c.addressof(b), 1); q = (c.c_size_t * 2)(int(e["ACCOMPLICE_AT"]), 1); '
    'c.CDLL(None).process_vm_writev(int(e["ACCOMPLICE"]), p, c.c_long(1), q, c.c_long(1), c.c_long(0))\'; sleep 0.3',
    "ptrace": f'{PYTHON} \'import ctypes as c, os, time; e = os.environ; l = c.CDLL(None); p = int(e["ACCOMPLICE"]); '
    "w = lambda n, a, d: l.ptrace(c.c_long(n), c.c_long(p), c.c_long(a), c.c_long(d)); w(16, 0, 0); time.sleep(0.1); "
    'w(4, int(e["ACCOMPLICE_AT"]), 121); w(17, 0, 0)\'; sleep 0.3',
    "a signal": 'kill -USR1 "$ACCOMPLICE"; sleep 0.3',
    "a Unix socket": f"{PYTHON} 'import os, socket; s = socket.socket(socket.AF_UNIX); "
    's.connect(os.environ["ACCOMPLICE_SOCKET"]); s.recv(1)\'',
    "an abstract socket": f"{PYTHON} 'import os, socket; s = socket.socket(socket.AF_UNIX); "
    's.connect("\\0" + os.environ["ACCOMPLICE_SOCKET"]); s.recv(1)\'',
    "a user namespace": "unshare -Ur sh -c 'mount -o remount,rw / 2>/dev/null; echo x > f'",
    "a mount namespace of a user": "unshare -Urm sh -c 'mount -o remount,bind,rw / 2>/dev/null; echo x > f'",
    "mount_setattr": "unshare -Urm " + f"{PYTHON} 'import ctypes, struct; "
    'ctypes.CDLL(None).syscall(442, -100, b"/", 0x8000, struct.pack("QQQQ", 0, 1, 0, 0), 32); '
    'open("f", "w").write("x")\'',
}

WAYS_OF_ROOT = {
    "chown to another": "chown 1:1 f",
    "a trusted attribute": f'{PYTHON} \'import os; os.setxattr("f", "trusted.x", b"y")\'',
    "chattr +i": "chattr +i f; chattr -i f",
    "mknod": "mknod new p",
    "remount": "mount -o remount,rw / 2>/dev/null; echo x > f",
    "bind mount": 'mkdir -p "$TMPDIR/m"; mount --bind "$PWD" "$TMPDIR/m"; echo x > "$TMPDIR/m/f"; umount "$TMPDIR/m"',
    "chroot": 'chroot / sh -c "echo x > $PWD/f"',
    "nsenter": 'nsenter -t "$ACCOMPLICE" -m sh -c "echo x > $PWD/f"',
    "another user": f'{PYTHON} \'import os; os.chmod("f", 0o666); os.setuid(65534); open("f", "w").write("x")\'',
    "open_by_handle_at": f"{PYTHON} 'import ctypes as c, os; l = c.CDLL(None); h = c.create_string_buffer(136); "
    'h[0:4] = (128).to_bytes(4, "little"); m = c.c_int(); l.name_to_handle_at(-100, b"f", h, c.byref(m), 0); '
    'n = l.open_by_handle_at(os.open(".", os.O_RDONLY), h, os.O_WRONLY); os.write(n, b"x")\'',
}

SHARED_MEMORY = Path("/dev/shm/scorpio-way-to-write")

REFUSED_EVERYWHERE = {
    "mknod of a disk": 'mknod "$TMPDIR/disk" b 7 0',
    "io_uring": f"{PYTHON} 'import ctypes, os; p = ctypes.create_string_buffer(120); "
    "n = ctypes.CDLL(None, use_errno=True).syscall(425, 4, p); os._exit(0 if n >= 0 else 1)'",
    "a setting of the kernel": "v=$(cat /proc/sys/kernel/core_pattern); echo $v > /proc/sys/kernel/core_pattern",
    "typing into a terminal": f"{PYTHON} 'import fcntl, os, pty; fcntl.ioctl(pty.openpty()[1], 0x5412, b\"x\")'",
    "an internet socket": f"{PYTHON} 'import socket; socket.socket()'",
    "a raw socket": f"{PYTHON} 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'",
    "a Unix socket of its own": f"{PYTHON} 'import socket; socket.socket(socket.AF_UNIX)'",
}
"""Must fail although nothing of the tree changes."""

READING = {
    "cat f": "abc",
    "head -c 1 < f; echo": "a",
    "git log --format=%s": "first",
    "git status --short; echo $?": "0",
    "ls d": "x",
    "echo a | tee /dev/null": "a",
    "echo a > /dev/null; echo b": "b",
    "{ echo gone > /dev/full; } 2>/dev/null || echo full": "full",
    "{ echo seen; } 2>&1 >> /dev/stdout": "seen",
    "cat <<END\nhere\nEND": "here",
    "cat <(echo there)": "there",
    "head -c 4 /dev/urandom | wc -c": "4",
    'echo new > "$TMPDIR/n"; cat "$TMPDIR/n"': "new",
    'mkdir -p "$TMPDIR/a/b" && mv "$TMPDIR/a" "$TMPDIR/c" && ls "$TMPDIR/c" && rm -r "$TMPDIR/c"': "b",
    'ln -s f "$TMPDIR/link"; readlink "$TMPDIR/link"; rm "$TMPDIR/link"': "f",
    f"{PYTHON} 'import socket; a, b = socket.socketpair(); a.send(b\"paired\"); print(b.recv(9).decode())'": "paired",
    f'{PYTHON} \'import os, subprocess; print(subprocess.check_output(["echo", "child"], text=True))\'': "child",
    "sleep 60 & kill $!; wait $!; echo $?": "143",
    "mktemp | grep -c scorpio-plan": "1",
}
"""Command: what it prints."""

BUILDS = {
    'cc -o "$TMPDIR/program" p.c && "$TMPDIR/program"': "built",
    'make -s OUT="$TMPDIR" && "$TMPDIR/made"': "built",
    'chmod 700 "$TMPDIR/n" && touch -d @0 "$TMPDIR/n" && stat -c "%a %Y" "$TMPDIR/n"': "700 0",
    'git clone -q . "$TMPDIR/clone" && ls "$TMPDIR/clone/d"': "x",
    "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'": "[1]",
    'tar -cf "$TMPDIR/t" d && mkdir "$TMPDIR/u" && tar -xf "$TMPDIR/t" -C "$TMPDIR/u" && ls "$TMPDIR/u/d"': "x",
}
"""Where chmod works in the temporary directory."""


def make_tree(root: Path) -> None:
    (root / "d").mkdir(parents=True, exist_ok=True)
    (root / "empty").mkdir()
    (root / "f").write_text("abc\n")
    (root / "d" / "x").write_text("x\n")
    (root / "marked").write_text("m\n")
    (root / "link").symlink_to("f")
    (root / "p.c").write_text('#include <stdio.h>\nint main(void) { return puts("built") < 0; }\n')
    (root / "Makefile").write_text("$(OUT)/made: p.c\n\tcc -o $@ p.c\n\ttouch $(OUT)/stamp\n")
    os.setxattr(root / "marked", "user.mark", b"1")
    git = [
        "git",
        "-C",
        str(root),
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@y",
        "-c",
        "safe.directory=*",
        "-c",
        "init.defaultBranch=main",
    ]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    subprocess.run([*git, "status"], check=True, capture_output=True)  # writes the index anew, where it is racy


def give(root: Path, user: int) -> None:
    for path in (root, *root.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)


def snapshot(root: Path) -> dict[str, tuple[Any, ...]]:
    """All that a change to the tree would change, ctime with it; not the times of reading."""
    found = {}
    for path in (root, *sorted(root.rglob("*"))):
        state = path.lstat()
        content: object = ""
        if stat.S_ISREG(state.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(state.st_mode):
            content = os.readlink(path)
        attributes = {name: os.getxattr(path, name, follow_symlinks=False) for name in _names(path)}
        found[str(path.relative_to(root))] = (
            *(state.st_mode, state.st_uid, state.st_gid, state.st_nlink, state.st_ino),
            *(state.st_mtime_ns, state.st_ctime_ns, content, tuple(sorted(attributes.items()))),
        )
    return found


def _names(path: Path) -> list[str]:
    return os.listxattr(path, follow_symlinks=False)


class Accomplice:
    """A process from before, that has `f` open and writes to it when it is signalled, connected to, or poked at."""

    def __init__(self, root: Path, sockets: Path, user: int | None) -> None:
        self.socket = sockets / f"accomplice-{os.urandom(4).hex()}"
        script = shutil.copy(__file__, sockets / "accomplice.py")
        as_user: dict[str, Any] = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        self.process = subprocess.Popen(
            [
                shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable,
                "-I",
                "-S",
                script,
                str(self.socket),
            ],
            cwd=root,
            stdout=subprocess.PIPE,
            text=True,
            **as_user,
        )
        assert self.process.stdout is not None
        at, file = self.process.stdout.readline().split()
        self.environment = {
            "ACCOMPLICE": str(self.process.pid),
            "ACCOMPLICE_FD": file,
            "ACCOMPLICE_AT": at,
            "ACCOMPLICE_SOCKET": str(self.socket),
        }

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def main() -> None:
    """The accomplice: its address and descriptor on stdout, then it waits."""
    name = sys.argv[1]
    poked = ctypes.create_string_buffer(b"n", 16)
    file = os.open("f", os.O_RDWR)

    def write(*_: object) -> None:
        with open("f", "a") as opened:
            opened.write("x\n")

    def serve(listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            write()
            connection.close()

    signal.signal(signal.SIGUSR1, write)
    for address in (name, "\0" + name):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen()
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
    sys.stdout.write(f"{ctypes.addressof(poked)} {file}\n")
    sys.stdout.flush()
    parent = os.getppid()
    while os.getppid() == parent:
        signal.sigtimedwait([signal.SIGUSR2], 0.05)
        if poked.raw[0:1] == b"y":
            poked[0] = b"n"
            write()


if __name__ == "__main__":
    main()
