/* The descendants of this process, from /proc: found and signalled in one go.
 *
 * Does not wait and does not decide: a scan never proves that nothing is left, wait() does.
 */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

#include <fcntl.h>
#include <signal.h>

#include "linux_calls.h"
#include "text.h"

enum { PID_MAX = 4 * 1024 * 1024 }; /* PID_MAX_LIMIT of 64-bit Linux */

typedef unsigned char Pids[PID_MAX / 8]; /* untouched pages of a set cost nothing */

static struct {
    long signalled;    /* distinct processes so far, zombies not counted */
    long alive;        /* in the latest scan, zombies not counted */
    long killed_first; /* in the latest scan: got KILL for the first time */
} found;

static Pids members, counted, killed;

static int contains(Pids set, long pid) { return set[pid >> 3] >> (pid & 7) & 1; }

static int add(Pids set, long pid) { /* True when it was not in the set. */
    int fresh = !contains(set, pid);
    set[pid >> 3] |= (unsigned char)(1 << (pid & 7));
    return fresh;
}

/* State letter and father of a process from /proc/PID/stat; 0 when it is gone. */
static int read_process(long proc, long pid, long *father) {
    char path[32], text[512];
    *put(put_number(path, pid), "/stat") = 0;
    long file = CALL4(openat, proc, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return 0;
    long count = CALL3(read, file, text, sizeof text - 1), at = count;
    CALL1(close, file);
    while (at > 0 && text[at - 1] != ')') at--; /* the name may hold anything, the fields after it only numbers */
    if (at <= 0 || at + 3 >= count) return 0;
    text[count] = 0;
    *father = number(text + at + 3);
    return text[at + 1];
}

static void signal_process(long pid, int letter, int signal) {
    int zombie = letter == 'Z' || letter == 'X'; /* perhaps of a thread group that lives on: signalled all the same */
    found.alive += !zombie;
    if (CALL2(kill, pid, signal) < 0) return;
    if (signal == SIGTERM) CALL2(kill, pid, SIGCONT); /* a stopped process would not see TERM */
    if (zombie) return;
    found.signalled += add(counted, pid);
    found.killed_first += signal == SIGKILL && add(killed, pid);
}

/* One reading of /proc; answers how many descendants were new to `members`. */
static long signal_pass(long proc, int signal) {
    /* Few entries a read: one that forks every ms must still be there when its entry is looked at. */
    static char entries[1024] __attribute__((aligned(8)));
    long added = 0, count, father;
    CALL3(lseek, proc, 0, 0);
    while ((count = CALL3(getdents64, proc, entries, sizeof entries)) > 0) {
        for (long at = 0; at < count; at += *(unsigned short *)(entries + at + 16)) { /* d_reclen; d_name at 19 */
            long pid = number(entries + at + 19);
            if (pid <= 0 || pid >= PID_MAX || contains(members, pid)) continue;
            int letter = read_process(proc, pid, &father);
            if (!letter || father <= 0 || father >= PID_MAX || !contains(members, father)) continue;
            added += add(members, pid);
            signal_process(pid, letter, signal);
        }
    }
    return added;
}

/* Signals every descendant of this process once, at the moment it is found, `spared` excepted (0: none).
 * TERM wakes stopped ones. Answers 0 when there is no /proc. */
static int signal_descendants(long spared, int signal) {
    long proc = CALL4(openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (proc < 0) return 0;
    found.alive = found.killed_first = 0;
    memset(members, 0, sizeof members);
    add(members, CALL0(getpid));
    if (spared) add(members, spared);
    while (signal_pass(proc, signal)) continue; /* a child may have a smaller number than its father */
    CALL1(close, proc);
    return 1;
}

#endif
