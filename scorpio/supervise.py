"""One command, and nothing of it left behind: build/launcher/supervisor.c in Python, for runs from source.

The control socket, the two processes and most reasons stand there; keep the two alike. Imports nothing that costs the
start of every command. Where there is no subreaper (macOS) what calls `setsid` and loses its father escapes.
"""

from __future__ import annotations

import errno
import mmap
import os
import select
import signal
import time

from scorpio.confine import prctl
from scorpio.descendants import Descendants, process_exists, signal_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

LOG_CHECK_MS_GROWING = 100
LOG_CHECK_MS_IDLE = 1000
LOG_CHECK_MS_MIN = 5
KILL_AGAIN_MS_MAX = 20
STUCK_AGAIN_MS = 500

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36  # linux/prctl.h

# Places in the memory that both processes see; a mark follows what it stands for, as either may be killed.
# CODE and SIGNAL are -1 for none, REASON is an index into REASONS.
SHELL_PID, STARTED, FAILED, SHELL_ENDED, EXITED_SENT, GONE_SENT, CODE, SIGNAL, REASON = range(9)
REASONS = ("-", "output", "server", "lost")

RUNNING, ASKED, KILLING = range(3)

JOB_FIELDS = 13


class Job:
    """What the server wants done, in the order of the fields."""

    def __init__(self, packed: bytes) -> None:
        """Raises ValueError."""
        fields = packed.split(b"\0")[:-1]
        if len(fields) < JOB_FIELDS + 1:
            raise ValueError("a job has these fields and an argument")
        self.survive = fields[0] == b"1"
        self.end_grace_ms, self.term_grace_ms, self.settle_ms, self.stuck_ms = map(int, fields[1:5])
        self.output_bytes_max = int(fields[5])
        self.cwd, self.log, self.status, self.delete, self.program = fields[6:11]
        start = JOB_FIELDS + int(fields[11])
        end = start + int(fields[12])
        self.confinement = fields[JOB_FIELDS:start]
        self.argv = fields[start:end]
        pairs = [entry.partition(b"=") for entry in fields[end:]]
        self.environment = {name: value for name, equals, value in pairs if name and equals}
        if not self.argv or end > len(fields):
            raise ValueError("fewer arguments than announced, or none")


class Supervisor:
    """Guard or parent: both run `loop`; only one that is `watching` reads control, kills and watches the log."""

    def __init__(self, job: Job, guard_pid: int, parent_pid: int, shared: memoryview, watching: bool) -> None:
        self.job = job
        self.guard_pid = guard_pid
        self.parent_pid = parent_pid
        self.shared = shared
        self.control = 0
        self.held = b""
        self.watching = False
        self.state = RUNNING
        self.kill_at = self.kill_again_at = self.stuck_at = self.settle_at = self.log_check_at = 0.0
        self.kill_again_ms = 0
        self.log_bytes = self.log_check_ms = 0
        self.stuck_told = False
        self.descendants = Descendants()
        self.wake, wake_write = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        if watching:
            self.watch()

    def watch(self) -> None:
        self.watching = True
        self.watch_log(LOG_CHECK_MS_GROWING)

    # -- what is said to the server

    def send(self, text: str) -> None:
        if self.control < 0:
            return
        try:
            os.write(self.control, text.encode())
        except OSError:
            pass  # the server is gone; `read_control` hears it

    def send_started(self, parent_pid: int) -> None:
        if not self.shared[STARTED]:
            self.send(f"started {self.shared[SHELL_PID]} {parent_pid}\n")
            self.shared[STARTED] = 1

    def exited_line(self) -> str:
        return f"exited {self.shared[CODE]} {self.shared[SIGNAL]} {REASONS[self.shared[REASON]]}"

    def send_exited(self, gone: bool) -> None:
        self.settle_at = 0
        exited = "" if self.shared[EXITED_SENT] else self.exited_line() + "\n"
        end = "gone\n" if gone and not self.shared[GONE_SENT] else ""
        if exited or end:
            self.send(exited + end)
        self.shared[EXITED_SENT] = 1
        self.shared[GONE_SENT] |= gone

    # -- how the shell ended

    def write_status(self) -> None:
        new = self.job.status + b".new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(new, flags, 0o600)
            try:
                os.fchmod(file, 0o600)
                os.write(file, f"{self.exited_line()} {time.time_ns() // 1_000_000}\n".encode())
            finally:
                os.close(file)
            os.rename(new, self.job.status)
        except OSError:
            pass  # a full disk must not stop the killing

    def shell_ended(self, code: int, number: int, reason: str = "") -> None:
        self.shared[CODE], self.shared[SIGNAL] = code, number
        if reason:
            self.shared[REASON] = REASONS.index(reason)
        if self.job.delete and not self.job.delete.endswith(b"/"):
            try:
                os.unlink(self.job.delete)
            except OSError:
                pass
        if self.job.status:
            self.write_status()
        self.shared[SHELL_ENDED] = 1
        self.settle_at = _now_ms() + self.job.settle_ms

    def parent_ended(self, status: int) -> None:
        self.parent_pid = 0
        if os.WIFEXITED(status) or not self.shared[SHELL_PID]:
            return
        self.send_started(0)
        if self.shared[SHELL_ENDED]:
            self.settle_at = _now_ms() + self.job.settle_ms  # the parent may not have told it
        elif not process_exists(self.shared[SHELL_PID]):
            self.shell_ended(-1, -1, "lost")

    def reap(self) -> bool:
        """True while a child is left."""
        while True:
            try:
                # Looked at before it is reaped: how the shell ended must be known to both, or dies with this process.
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
                if not ended:
                    return True
                pid = ended.si_pid
                if pid == self.shared[SHELL_PID] and not self.shared[SHELL_ENDED] and ended.si_code != os.CLD_STOPPED:
                    how = (ended.si_status, -1)
                    self.shell_ended(*(how if ended.si_code == os.CLD_EXITED else how[::-1]))
                _, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return False
            if pid == self.parent_pid and os.WIFSTOPPED(status):
                os.kill(pid, signal.SIGCONT)
            elif pid == self.parent_pid:
                self.parent_ended(status)

    def finish(self) -> None:
        if self.shared[FAILED]:
            return
        if not self.shared[SHELL_ENDED]:
            self.shell_ended(-1, -1, "lost")
        if self.job.delete.endswith(b"/"):
            import shutil

            shutil.rmtree(self.job.delete[:-1], ignore_errors=True)
        self.send_exited(gone=True)
        if self.watching and self.state != RUNNING:
            self.send(f"killed {len(self.descendants.signalled)}\n")

    # -- killing

    def signal_all(self, number: int) -> None:
        if not self.descendants.signal_all(self.parent_pid, number) and not self.shared[SHELL_ENDED]:
            signal_process(-self.shared[SHELL_PID], number)  # no /proc: the shell's group, while the number is its own

    def terminate(self, grace_ms: int, reason: str = "") -> None:
        deadline = _now_ms() + grace_ms
        if self.state == RUNNING:
            if reason:
                self.shared[REASON] = REASONS.index(reason)
            self.kill_at = deadline
            self.state = ASKED
            if grace_ms > 0:
                self.signal_all(signal.SIGTERM)
        else:
            self.kill_at = min(self.kill_at, deadline)

    def kill_all(self, now: float) -> None:
        self.signal_all(signal.SIGKILL)
        self.kill_again_ms = 0 if self.descendants.killed_first else min(self.kill_again_ms * 2 or 1, KILL_AGAIN_MS_MAX)
        if now >= self.stuck_at:
            if not self.stuck_told:
                self.send(f"stuck {self.descendants.alive}\n")
            self.stuck_told = True
            self.kill_again_ms = STUCK_AGAIN_MS
        self.kill_again_at = _now_ms() + self.kill_again_ms

    # -- the loop

    def watch_log(self, wait_ms: int) -> None:
        if self.job.output_bytes_max:
            self.log_check_ms = wait_ms
            self.log_check_at = _now_ms() + wait_ms

    def check_log(self) -> None:
        size = os.fstat(1).st_size
        grown, self.log_bytes = size - self.log_bytes, size
        if size > self.job.output_bytes_max:
            self.send("output\n")
            self.terminate(0, "output")
            return
        wait_ms = LOG_CHECK_MS_IDLE
        if grown > 0:  # half of the time that is left at this speed
            left_ms = (self.job.output_bytes_max - size) // (grown // self.log_check_ms + 1)
            wait_ms = max(LOG_CHECK_MS_MIN, min(left_ms // 2, LOG_CHECK_MS_GROWING))
        self.watch_log(wait_ms)

    def read_control(self) -> None:
        try:
            data = os.read(self.control, 64)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            os.close(self.control)
            self.control = -1
            if not self.job.survive:
                self.terminate(self.job.end_grace_ms, "server")
            return
        *lines, self.held = (self.held + data).split(b"\n")
        for line in lines:
            word, _, number = line.partition(b" ")
            if word == b"terminate":
                self.terminate(int(number))

    def due(self, now: float) -> None:
        if self.settle_at and now >= self.settle_at:
            self.send_exited(gone=False)
        if not self.watching:
            return
        if self.state == ASKED and now >= self.kill_at:
            self.state = KILLING
            self.stuck_at = now + self.job.stuck_ms
            self.kill_again_at = now
        if self.state == KILLING and now >= self.kill_again_at:
            self.kill_all(now)
        if self.state == RUNNING and self.log_check_at and now >= self.log_check_at:
            self.check_log()

    def wait_for_events(self) -> None:
        own = (self.log_check_at, self.kill_at, self.kill_again_at)[self.state] if self.watching else 0
        times = [at for at in (self.settle_at, own) if at]
        events = select.poll()
        events.register(self.wake, select.POLLIN)
        if self.watching and self.control >= 0:
            events.register(self.control, select.POLLIN)
        for file, _ in events.poll(max(0.0, min(times) - _now_ms()) if times else None):
            if file == self.control:
                self.read_control()
            elif signal.SIGTERM in os.read(self.wake, 512) and self.watching:
                self.terminate(self.job.term_grace_ms)

    def loop(self) -> None:
        while self.reap():
            if not self.watching and os.getppid() != self.guard_pid:
                self.job.survive = False  # a later server knows the guard's pid only
                self.watch()
            self.due(_now_ms())
            self.wait_for_events()
        self.finish()


def run_parent(job: Job, guard_pid: int, shared: memoryview) -> None:
    prctl(PR_SET_NAME, b"command-parent")
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGCHLD)  # only a wake-up: the loop compares getppid()
    parent = Supervisor(job, guard_pid, 0, shared, watching=False)
    told, tell = os.pipe()
    try:
        if not os.fork():
            become_program(job, shared, tell)
    except OSError as error:
        os.write(tell, b"%d process" % (error.errno or 0))
    os.close(tell)
    failure = os.read(told, 64)  # ends when the shell runs
    os.close(told)
    if failure:
        shared[FAILED] = 1
        parent.send(f"failed {failure.decode()}\n")
        return
    parent.send_started(os.getpid())
    parent.loop()


def become_program(job: Job, shared: memoryview, tell: int) -> NoReturn:
    """The shell's process until exec."""
    what = b"process"
    try:
        shared[SHELL_PID] = os.getpid()
        os.setsid()
        try:
            file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
            os.write(file, b"500")
            os.close(file)
        except OSError:
            pass  # no Linux, or a container that forbids it
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        what = b"confinement"
        if job.confinement:
            from scorpio.confine import confine

            confine(job.confinement)
        what = b"cwd"
        os.chdir(job.cwd)  # after it: a directory of before leads out of a namespace
        what = b"program"
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)  # Python ignores SIGPIPE and SIGXFSZ
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.execve(job.program, job.argv, job.environment)
    except OSError as error:
        os.write(tell, b"%d %b" % (error.errno or 0, what))
    finally:
        os._exit(127)


def open_log(job: Job) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    os.set_inheritable(os.open(job.log, flags, 0o600), True)  # 1, the lowest that is free
    os.dup2(1, 2)


def read_job() -> Job:
    """Raises ValueError, OSError."""
    packed = b""
    size = 8
    while len(packed) < size:
        data = os.read(0, size - len(packed))
        if not data:
            raise ValueError("the job ended too early")
        packed += data
        if size == 8 and len(packed) == 8:
            size += int(packed)
    return Job(packed[8:])


def main() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals() - {signal.SIGCHLD, signal.SIGTERM})
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: None)
    os.setsid()
    os.chdir("/")
    os.closerange(1, 65536)  # the server's output too: its reader waits for the end
    prctl(PR_SET_NAME, b"command-guard")
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    what = "job"
    try:
        job = read_job()
        what = "log"
        open_log(job)
        what = "process"
        os.set_inheritable(0, False)
        shared = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("q")
        guard_pid = os.getpid()
        parent_pid = os.fork()
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None) or errno.EINVAL
        os.write(0, f"failed {number} {what}\n".encode())
        return
    if parent_pid:
        Supervisor(job, guard_pid, parent_pid, shared, watching=True).loop()
    else:
        run_parent(job, guard_pid, shared)


def _now_ms() -> float:
    return time.monotonic() * 1000
