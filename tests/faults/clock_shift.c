/* The wall clock of a process, shifted by what a file says: LD_PRELOAD of tests/faults/mixed_load.py.
 *
 * CLOCK_SHIFT_FILE holds a signed 64-bit number of seconds in the machine's byte order, read at every call, so that the
 * clock jumps while the process runs. Only the wall clock: CLOCK_MONOTONIC and CLOCK_BOOTTIME never jump on a machine.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const long long *shift;

__attribute__((constructor)) static void open_shift(void) {
    const char *path = getenv("CLOCK_SHIFT_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *seen = mmap(0, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (seen != MAP_FAILED) shift = seen;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    long status = syscall(SYS_clock_gettime, clock, now);
    if (status == 0 && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *shift;
    return (int)status;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (at) *at = exact.tv_sec;
    return exact.tv_sec;
}
