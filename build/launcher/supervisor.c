/* One command, and nothing of it left behind.
 *
 * Build (no Makefile, no C library on x86-64; elsewhere the second line):
 *   cc -O2 -static -nostdlib -ffreestanding -fno-stack-protector -o supervisor supervisor.c
 *   cc -O2 -static -DSUPERVISOR_LIBC -o supervisor supervisor.c
 *
 * Two processes stand between the server and the shell, both child subreapers:
 *   guard    child of the server; reads the control socket, kills, watches the size of the log
 *   parent   child of the guard, father of the shell; reaps, and reports how the shell ended
 * A command sees the parent as $PPID. If it stops the parent, the guard continues it; if it kills the parent, the
 * shell becomes the guard's child and nothing is lost; if it finds and kills the guard, the parent takes over.
 * Only wait() saying ECHILD proves that nothing is left: a scan of /proc alone loses against a process that forks
 * anew every millisecond. Does not know tools, tasks or time limits. Refuses to run without a job.
 * scorpio/supervise.py is the same program for runs from source; keep the two alike.
 *
 * Control socket: descriptor 0. First comes the job: its length as 8 decimal digits, then strings, each ended by NUL:
 *   survive (0|1), end_grace_ms, term_grace_ms, settle_ms, stuck_ms, output_bytes_max (0: none), cwd, log file,
 *   status file (or empty), what to delete (or empty), program, number of strings that confine the command (0: nothing
 *   does), number of arguments, those strings (confine.h), argv[0], argv[1]…, NAME=value…
 * What to delete: a file, when the shell ended; a path with a slash at its end is a directory, deleted with all that is
 * in it when no descendant is left, whoever ended them, so that it goes with a server that was killed.
 * A supervisor may wait for its job for ever, as one that was started ahead does. Lines to the supervisor:
 *   terminate GRACE_MS     TERM to every descendant, KILL after the grace; again: the earlier deadline holds
 *   (end of file)          the server is gone: terminate end_grace_ms, unless `survive`
 *   SIGTERM to the guard   terminate term_grace_ms, for a later server that knows the pid only
 * Lines from the supervisor:
 *   started SHELL_PID PARENT_PID
 *   failed ERRNO WHAT      job, log, process, confinement, cwd or program; nothing runs
 *   output                 the log passed output_bytes_max; everything is being killed
 *   exited CODE SIGNAL REASON   the shell ended; -1 for none; REASON is - or output, server, lost
 *   gone                   no descendant is left; in the same write as `exited` when that is so by then
 *   stuck COUNT            so many have outlived KILL for stuck_ms (another user's, or in the kernel); it keeps trying
 *   killed COUNT           after terminate: nothing is left, so many processes were signalled
 * The status file holds the `exited` line with the time appended, in ms since 1970.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "confine.h"
#include "descendants.h"
#include "remove_tree.h"

_Static_assert(sizeof(long) == 8, "64-bit Linux only: elsewhere the calls have other structures");

enum {
    JOB_BYTES_MAX = 2 * 1024 * 1024, /* what Linux takes of arguments and environment with a stack of 8 MiB */
    JOB_FIELDS = 13,
    JOB_STRINGS_MAX = 64 * 1024,
    LOG_CHECK_MS_GROWING = 100,
    LOG_CHECK_MS_IDLE = 1000, /* idle must not cost more than one wake-up a second */
    LOG_CHECK_MS_MIN = 5,
    KILL_AGAIN_MS_MAX = 20,
    STUCK_AGAIN_MS = 500,
};

static struct {
    long survive, end_grace_ms, term_grace_ms, settle_ms, stuck_ms, output_bytes_max;
    char *cwd, *log, *status, *delete, *program, **confinement, **argv, **environment;
    long confinement_count;
    int deletes_directory;
} job;

/* Seen by both processes, so that either can finish what the other began. A command may kill one between any two steps:
 * a mark follows what it stands for, and what is done twice then must do no harm. */
static struct {
    int shell_pid, started, failed, shell_ended, exited_sent, gone_sent;
    int code, signal;
    const char *reason;
} volatile *shared;

enum state { RUNNING, ASKED, KILLING };

static int control = 0, wake;
static int watching;    /* this process reads control, kills and watches the log: the guard, or a parent left alone */
static long guard_pid, parent_pid; /* parent_pid: 0 in the parent, and in the guard once the parent is gone */
static enum state state;
static int stuck_told;
static long long kill_at, kill_again_at, stuck_at, settle_at, log_check_at; /* monotonic ms; 0: not set */
static long kill_again_ms, log_bytes, log_check_ms;
static volatile struct { int error; const char *what; } failure; /* written by the shell's process, in shared memory */

/* -- what is said to the server */

static void send_text(const char *text, const char *end) {
    if (control >= 0) CALL6(sendto, control, text, end - text, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
}

static void send_line(const char *word, long value, long second) { /* a negative number is left out */
    char line[64], *at = put(line, word);
    if (value >= 0) *at++ = ' ', at = put_number(at, value);
    if (second >= 0) *at++ = ' ', at = put_number(at, second);
    *at++ = '\n';
    send_text(line, at);
}

static void send_failed(long error, const char *what) {
    char line[64], *at = put_number(put(line, "failed "), -error);
    *at++ = ' ';
    at = put(at, what);
    *at++ = '\n';
    send_text(line, at);
}

static void send_started(long parent) {
    if (shared->started) return;
    send_line("started", shared->shell_pid, parent);
    shared->started = 1;
}

static char *put_exited(char *at) {
    at = put_number(put(at, "exited "), shared->code);
    *at++ = ' ';
    at = put_number(at, shared->signal);
    *at++ = ' ';
    return put(at, shared->reason ? shared->reason : "-");
}

static void send_exited(int gone) {
    char line[96], *at = line;
    settle_at = 0;
    if (!shared->exited_sent) {
        at = put_exited(at);
        *at++ = '\n';
    }
    if (gone && !shared->gone_sent) at = put(at, "gone\n");
    if (at != line) send_text(line, at);
    shared->exited_sent = 1;
    shared->gone_sent |= gone;
}

/* -- time */

static long long clock_ms(int which) {
    struct timespec now;
    CALL2(clock_gettime, which, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static long long now_ms(void) { return clock_ms(CLOCK_MONOTONIC); }

/* -- how the shell ended */

static void write_status(void) {
    char path[4200], line[128], *at;
    if (!*job.status || length(job.status) > 4090) return;
    *put(put(path, job.status), ".new") = 0;
    long file = CALL4(openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return;
    at = put_exited(line);
    *at++ = ' ';
    at = put_number(at, clock_ms(CLOCK_REALTIME));
    *at++ = '\n';
    CALL2(fchmod, file, 0600);
    long written = CALL3(write, file, line, at - line);
    CALL1(close, file);
    if (written == at - line) CALL5(renameat2, AT_FDCWD, path, AT_FDCWD, job.status, 0);
    else CALL3(unlinkat, AT_FDCWD, path, 0);
}

static void shell_ended(int code, int signal, const char *reason) {
    shared->code = code;
    shared->signal = signal;
    if (reason) shared->reason = reason;
    if (*job.delete && !job.deletes_directory) CALL3(unlinkat, AT_FDCWD, job.delete, 0);
    write_status();
    shared->shell_ended = 1;
    settle_at = now_ms() + job.settle_ms; /* helpers that are dying already do not count as left behind */
}

static void parent_ended(int status) {
    parent_pid = 0;
    if (WIFEXITED(status) || !shared->shell_pid) return;
    send_started(0);
    if (shared->shell_ended) settle_at = now_ms() + job.settle_ms; /* the parent may not have told it */
    else if (CALL2(kill, shared->shell_pid, 0) == -ESRCH) shell_ended(-1, -1, "lost");
}

/* True while a child is left. */
static int reap(void) {
    siginfo_t ended;
    int status;
    for (;;) {
        /* Looked at before it is reaped: how the shell ended must be known to both, or dies with this process. */
        ended.si_pid = 0;
        if (CALL5(waitid, P_ALL, 0, &ended, WEXITED | WSTOPPED | WNOHANG | WNOWAIT, 0) == -ECHILD) return 0;
        long pid = ended.si_pid, exited = ended.si_code == CLD_EXITED;
        if (pid <= 0) return 1;
        if (pid == shared->shell_pid && !shared->shell_ended && ended.si_code != CLD_STOPPED)
            shell_ended(exited ? ended.si_status : -1, exited ? -1 : ended.si_status, 0);
        if (CALL4(wait4, pid, &status, WNOHANG | WUNTRACED, 0) != pid || pid != parent_pid) continue;
        if (WIFSTOPPED(status)) CALL2(kill, pid, SIGCONT);
        else parent_ended(status);
    }
}

static int finish(void) {
    if (shared->failed) return 0;
    if (!shared->shell_ended) shell_ended(-1, -1, "lost");
    if (job.deletes_directory) remove_tree(AT_FDCWD, job.delete, 0);
    send_exited(1);
    if (watching && state != RUNNING) send_line("killed", found.signalled, -1);
    return 0;
}

/* -- killing */

static void signal_all(int signal) {
    if (signal_descendants(parent_pid, signal)) return;
    /* No /proc: the shell's group, while its number cannot be anybody else's. */
    if (!shared->shell_ended) CALL2(kill, -shared->shell_pid, signal);
}

static void terminate(long grace_ms, const char *reason) {
    long long deadline = now_ms() + grace_ms;
    if (state == RUNNING) {
        if (reason) shared->reason = reason;
        kill_at = deadline;
        state = ASKED;
        if (grace_ms > 0) signal_all(SIGTERM);
    } else if (deadline < kill_at) {
        kill_at = deadline;
    }
}

static void kill_all(long long now) {
    signal_all(SIGKILL);
    kill_again_ms = found.killed_first ? 0 : kill_again_ms ? kill_again_ms * 2 : 1;
    if (kill_again_ms > KILL_AGAIN_MS_MAX) kill_again_ms = KILL_AGAIN_MS_MAX;
    if (now >= stuck_at) {
        if (!stuck_told) send_line("stuck", found.alive, -1);
        stuck_told = 1;
        kill_again_ms = STUCK_AGAIN_MS;
    }
    kill_again_at = now_ms() + kill_again_ms;
}

/* -- the loop */

static void watch_log(long wait_ms) {
    if (!job.output_bytes_max) return;
    log_check_ms = wait_ms;
    log_check_at = now_ms() + wait_ms;
}

static void check_log(void) {
    struct stat log;
    if (CALL2(fstat, 1, &log) < 0) log.st_size = 0;
    long grown = log.st_size - log_bytes;
    log_bytes = log.st_size;
    if (log_bytes > job.output_bytes_max) {
        send_line("output", -1, -1);
        terminate(0, "output"); /* no grace: a writer fills 3 GB a second */
        return;
    }
    long wait_ms = LOG_CHECK_MS_IDLE;
    if (grown > 0) { /* half of the time that is left at this speed */
        wait_ms = (job.output_bytes_max - log_bytes) / (grown / log_check_ms + 1) / 2;
        if (wait_ms > LOG_CHECK_MS_GROWING) wait_ms = LOG_CHECK_MS_GROWING;
        if (wait_ms < LOG_CHECK_MS_MIN) wait_ms = LOG_CHECK_MS_MIN;
    }
    watch_log(wait_ms);
}

static void read_control(void) {
    static char line[64];
    static long held;
    long count = CALL3(read, control, line + held, sizeof line - 1 - held);
    if (count == -EAGAIN || count == -EINTR) return;
    if (count <= 0) {
        CALL1(close, control);
        control = -1;
        if (!job.survive) terminate(job.end_grace_ms, "server");
        return;
    }
    held += count;
    for (long end = 0; end < held; end++) {
        if (line[end] != '\n') continue;
        line[end] = 0;
        if (line[0] == 't' && end > 10) terminate(number(line + 10), 0); /* "terminate " */
        held -= end + 1;
        for (long at = 0; at < held; at++) line[at] = line[end + 1 + at];
        end = -1;
    }
    if (held == sizeof line - 1) held = 0;
}

static void read_signals(void) {
    unsigned char info[128]; /* struct signalfd_siginfo; its first four bytes are the signal */
    while (CALL3(read, wake, info, sizeof info) == sizeof info)
        if (info[0] == SIGTERM && watching) terminate(job.term_grace_ms, 0);
}

static void due(long long now) {
    if (settle_at && now >= settle_at) send_exited(0);
    if (!watching) return;
    if (state == ASKED && now >= kill_at) {
        state = KILLING;
        stuck_at = now + job.stuck_ms;
        kill_again_at = now;
    }
    if (state == KILLING && now >= kill_again_at) kill_all(now);
    if (state == RUNNING && log_check_at && now >= log_check_at) check_log();
}

static void wait_for_events(void) {
    struct pollfd events[2] = {{wake, POLLIN, 0}, {watching ? control : -1, POLLIN, 0}};
    long long next = settle_at, now = next ? now_ms() : 0;
    long long own = !watching ? 0 : state == RUNNING ? log_check_at : state == ASKED ? kill_at : kill_again_at;
    if (own && (!next || own < next)) next = own;
    if (next && !now) now = now_ms();
    long long wait = next > now ? next - now : 0;
    struct timespec limit = {wait / 1000, wait % 1000 * 1000000};
    if (CALL5(ppoll, events, 2, next ? &limit : 0, 0, 8) <= 0) return;
    if (events[0].revents) read_signals();
    if (events[1].revents) read_control();
}

static int loop(void) {
    for (;;) {
        if (!reap()) return finish();
        if (!watching && CALL0(getppid) != guard_pid) {
            watching = 1;
            job.survive = 0; /* a later server knows the guard's pid only */
            watch_log(LOG_CHECK_MS_GROWING);
        }
        if (settle_at || watching) due(now_ms());
        wait_for_events();
    }
}

/* -- start */

static void fail(long error, const char *what) {
    failure.error = (int)error;
    failure.what = what;
    for (;;) CALL1(exit_group, 127);
}

/* The shell's process until exec; shares the parent's memory, has its own descriptors. */
static void become_program(void) {
    unsigned long none = 0, plain[4] = {0}; /* struct sigaction of the kernel: SIG_DFL */
    long error, file;
    shared->shell_pid = (int)CALL0(getpid);
    CALL0(setsid);
    file = CALL4(openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0);
    if (file >= 0) {
        CALL3(write, file, "500", 3);
        CALL1(close, file);
    }
    file = CALL4(openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) fail(file, "process");
    CALL3(dup3, file, 0, 0);
    error = confine(job.confinement, job.confinement_count);
    if (error < 0) fail(error, "confinement");
    error = CALL1(chdir, job.cwd); /* after it: a directory of before leads out of a namespace */
    if (error < 0) fail(error, "cwd");
    for (long signal = 32; signal <= 33; signal++) CALL4(rt_sigaction, signal, plain, 0, 8); /* glibc ignores them */
    CALL4(rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
    fail(CALL3(execve, job.program, job.argv, job.environment), "program");
}

static int run_parent(void) {
    static char stack[16384] __attribute__((aligned(16)));
    CALL2(prctl, PR_SET_NAME, "command-parent");
    CALL2(prctl, PR_SET_CHILD_SUBREAPER, 1);
    CALL2(prctl, PR_SET_PDEATHSIG, SIGCHLD); /* only a wake-up: the loop compares getppid() */
    long pid = clone_on(CLONE_VM | CLONE_VFORK | SIGCHLD, stack + sizeof stack, become_program);
    if (pid < 0) failure.error = (int)pid, failure.what = "process";
    if (failure.error) {
        shared->failed = 1;
        send_failed(failure.error, failure.what);
        return 0;
    }
    send_started(CALL0(getpid));
    return loop();
}

static long open_log(void) {
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
    long file = CALL4(openat, AT_FDCWD, job.log, flags, 0600);
    if (file < 0) return file;
    CALL3(fcntl, 1, F_SETFD, 0); /* the lowest that is free */
    return CALL3(dup3, 1, 2, 0);
}

/* The whole of `size` bytes from the control socket, or 0. */
static int read_all(char *to, long size) {
    for (long have = 0, count; have < size; have += count)
        if ((count = CALL3(read, 0, to + have, size - have)) <= 0) return 0;
    return 1;
}

static int read_job(void) {
    static char text[JOB_BYTES_MAX + 1], *strings[JOB_STRINGS_MAX + 2];
    char head[9] = {0};
    if (!read_all(head, 8)) return 0;
    long size = number(head), count = 0, arguments = 1, confining = 0;
    if (size > JOB_BYTES_MAX || !read_all(text, size)) return 0;
    for (char *at = text; at < text + size; at += length(at) + 1) {
        if (count == JOB_STRINGS_MAX) return 0;
        strings[count++] = at;
        if (count == JOB_FIELDS) confining = number(strings[11]), arguments = number(at);
        if (count == JOB_FIELDS + confining + arguments) strings[count++] = 0;
    }
    if (arguments < 1 || count <= JOB_FIELDS + confining + arguments) return 0;
    job.survive = number(strings[0]);
    job.end_grace_ms = number(strings[1]);
    job.term_grace_ms = number(strings[2]);
    job.settle_ms = number(strings[3]);
    job.stuck_ms = number(strings[4]);
    job.output_bytes_max = number(strings[5]);
    job.cwd = strings[6];
    job.log = strings[7];
    job.status = strings[8];
    job.delete = strings[9];
    long end = length(job.delete);
    job.deletes_directory = end > 1 && job.delete[end - 1] == '/';
    if (job.deletes_directory) job.delete[end - 1] = 0; /* with it a link would be followed */
    job.program = strings[10];
    job.confinement = strings + JOB_FIELDS;
    job.confinement_count = confining;
    job.argv = job.confinement + confining;
    job.environment = job.argv + arguments + 1;
    return 1;
}

static int supervise(void) {
    unsigned long all = ~0UL, waking = 1UL << (SIGCHLD - 1) | 1UL << (SIGTERM - 1);
    long error;
    CALL4(rt_sigprocmask, SIG_SETMASK, &all, 0, 8); /* from here only KILL and STOP reach this process unasked */
    CALL0(setsid);
    CALL1(chdir, "/");
    if (CALL3(close_range, 1, ~0U, 0) < 0) /* the server's output too: its reader waits for the end */
        for (int file = 1; file < 4096; file++) CALL1(close, file); /* before Linux 5.9 */
    CALL2(prctl, PR_SET_NAME, "command-guard"); /* else the number of the descriptor it was started from */
    CALL2(prctl, PR_SET_CHILD_SUBREAPER, 1);
    if (!read_job()) return send_failed(-EINVAL, "job"), 2;
    if ((error = open_log()) < 0) return send_failed(error, "log"), 0;
    CALL3(fcntl, 0, F_SETFD, FD_CLOEXEC);
    shared = (void *)CALL6(mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    wake = (int)CALL4(signalfd4, -1, &waking, 8, O_CLOEXEC | O_NONBLOCK);
    guard_pid = CALL0(getpid);
    error = (long)shared > -4096 && (long)shared < 0 ? (long)shared : wake < 0 ? wake : fork_process();
    if (error < 0) return send_failed(error, "process"), 0;
    if (!error) return run_parent();
    parent_pid = error;
    watching = 1;
    watch_log(LOG_CHECK_MS_GROWING);
    return loop();
}
