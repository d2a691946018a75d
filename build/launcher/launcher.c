/* scorpio's executable: this program with the unpacked one's folder appended.
 *
 * Unpacks the folder once per version into a private cache directory, later only checks it (about half a millisecond),
 * then becomes the program in it: one process, same pid, same arguments, nothing left behind. Never writes to stdout,
 * and to stderr only what stopped it, or that SCORPIO_CACHE_DIR could not be used.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache.h"
#include "payload.h"
#include "reason.h"

#define PROGRAM "scorpio"
#define SUPERVISOR "scorpio-supervisor"
#define ROOTS_MAX 8
#define VERSION_HEX 32 /* of the 64 digits of the hash: enough to tell versions apart, short in a path */

int because(Reason *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, sizeof reason->text, format, arguments);
    va_end(arguments);
    return -1;
}

/* ---- what was started ---- */

/* A file opened later must not become somebody's stdin or stdout: MCP's wire is there. */
static int fill_standard_descriptors(Reason *reason)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
        if (fd < 0)
            return because(reason, "/dev/null cannot be opened (%s)", strerror(errno));
    } while (fd <= STDERR_FILENO);
    close(fd);
    return 0;
}

/* The real path of the executable, through all symbolic links. Without /proc: as it was started. */
static int find_executable(char path[PATH_MAX], Reason *reason)
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length > 0) {
        path[length] = '\0';
        return 0;
    }
    const char *started_as = (const char *)getauxval(AT_EXECFN);
    if (started_as == NULL || realpath(started_as, path) == NULL)
        return because(reason, "its own file cannot be found: /proc is not mounted");
    return 0;
}

static int open_executable(const char *path, Reason *reason)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd : because(reason, "%s cannot be read (%s)", path, strerror(errno));
}

/* ---- where to unpack ---- */

typedef struct {
    char paths[ROOTS_MAX][PATH_MAX];
    int count;
    int chosen; /* 1 when the first one is SCORPIO_CACHE_DIR */
} Roots;

static void add_root(Roots *roots, const char *base, const char *rest)
{
    if (base == NULL || base[0] == '\0' || roots->count == ROOTS_MAX)
        return;
    char *path = roots->paths[roots->count];
    if (snprintf(path, PATH_MAX, "%s%s", base, rest) >= PATH_MAX)
        return;
    for (int i = 0; i < roots->count; i++)
        if (strcmp(roots->paths[i], path) == 0)
            return;
    roots->count++;
}

/* HOME, unless root was given somebody else's (sudo): files of root's there would lock that user out. */
static const char *own_home(void)
{
    const char *home = getenv("HOME");
    struct stat status;
    if (home == NULL || home[0] != '/' || stat(home, &status) < 0)
        return NULL;
    return geteuid() == 0 && status.st_uid != 0 ? NULL : home;
}

static void list_roots(Roots *roots)
{
    const char *home = own_home(), *chosen = getenv("SCORPIO_CACHE_DIR"), *scorpio_home = getenv("SCORPIO_HOME");
    char shared[64];
    memset(roots, 0, sizeof *roots);
    add_root(roots, chosen, "");
    roots->chosen = roots->count;
    add_root(roots, scorpio_home, "/cache");
    if (scorpio_home == NULL || scorpio_home[0] == '\0')
        add_root(roots, home, "/.scorpio/cache");
    add_root(roots, getenv("XDG_CACHE_HOME"), "/scorpio");
    add_root(roots, home, "/.cache/scorpio");
    snprintf(shared, sizeof shared, "/scorpio-%lu", (unsigned long)geteuid());
    add_root(roots, "/var/tmp", shared);
    add_root(roots, getenv("TMPDIR"), shared);
    add_root(roots, "/tmp", shared);
}

/* ---- becoming the program ---- */

/* The program finds its libraries through LD_LIBRARY_PATH and takes our part out again (interpreter.c). */
static int set_environment(const char *directory, const char *executable, int marker_fd, Reason *reason)
{
    char supervisor[PATH_MAX], fd[16];
    const char *before = getenv("LD_LIBRARY_PATH");
    char *libraries = malloc(PATH_MAX + (before ? strlen(before) : 0) + 2);
    if (libraries == NULL || snprintf(supervisor, PATH_MAX, "%s/" SUPERVISOR, directory) >= PATH_MAX)
        return because(reason, "its path is too long");
    sprintf(libraries, "%s/lib%s%s", directory, before ? ":" : "", before ? before : "");
    snprintf(fd, sizeof fd, "%d", marker_fd);
    if (setenv("LD_LIBRARY_PATH", libraries, 1) < 0 || setenv("SCORPIO_SUPERVISOR", supervisor, 1) < 0 ||
        setenv("SCORPIO_EXECUTABLE", executable, 1) < 0 || setenv("SCORPIO_CACHE_LOCK", fd, 1) < 0)
        return because(reason, "there is no memory for its environment");
    free(libraries);
    return 0;
}

/* Returns only when it failed. The marker stays open in the program: while it runs, nobody removes its files. */
static int become(const char *directory, const char *executable, int marker_fd, char **argv, Reason *reason)
{
    char program[PATH_MAX];
    if (snprintf(program, sizeof program, "%s/" PROGRAM, directory) >= PATH_MAX)
        return because(reason, "its path is too long");
    if (set_environment(directory, executable, marker_fd, reason) < 0 || fcntl(marker_fd, F_SETFD, 0) < 0)
        return -1;
    execv(program, argv);
    return because(reason, "%s cannot be executed (%s)", program, strerror(errno));
}

static int start_from(const char *root, const Payload *payload, const char *executable, char **argv, Reason *reason)
{
    char version[] = "app-" "0123456789abcdef0123456789abcdef", directory[PATH_MAX];
    for (int i = 0; i < VERSION_HEX / 2; i++)
        sprintf(version + 4 + 2 * i, "%02x", payload->trailer.hash[i]);
    if (snprintf(directory, sizeof directory, "%s/%s", root, version) >= PATH_MAX)
        return because(reason, "its path is too long");
    int root_fd = cache_open_root(root, reason);
    if (root_fd < 0)
        return -1;
    int marker_fd = cache_find(root_fd, version, payload);
    if (marker_fd < 0) {
        mode_t before = umask(077);
        marker_fd = cache_install(root_fd, version, payload, reason);
        umask(before);
    }
    close(root_fd);
    if (marker_fd < 0)
        return -1;
    become(directory, executable, marker_fd, argv, reason);
    close(marker_fd);
    return -1;
}

/* ---- messages ---- */

static int stop(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int stop(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("scorpio: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    return 1;
}

static void keep(char tried[], size_t size, const char *root, const Reason *reason)
{
    size_t length = strlen(tried);
    snprintf(tried + length, size - length, "%s%s: %s", length ? "; " : "", root, reason->text);
}

int main(int argc, char **argv)
{
    static Roots roots;
    static char tried[ROOTS_MAX * (PATH_MAX + sizeof(Reason))];
    char executable[PATH_MAX];
    Payload payload;
    Reason reason = {{0}, 0};
    (void)argc;
    if (fill_standard_descriptors(&reason) < 0 || find_executable(executable, &reason) < 0)
        return stop("It cannot start: %s.", reason.text);
    int fd = open_executable(executable, &reason);
    if (fd < 0)
        return stop("It cannot start: %s.", reason.text);
    if (payload_open(&payload, fd, &reason) < 0)
        return stop("%s is not whole: %s. Download it again.", executable, reason.text);
    list_roots(&roots);
    for (int i = 0; i < roots.count; i++) {
        start_from(roots.paths[i], &payload, executable, argv, &reason);
        if (reason.executable_is_damaged)
            return stop("%s is not whole: %s. Download it again.", executable, reason.text);
        keep(tried, sizeof tried, roots.paths[i], &reason);
        if (i == 0 && roots.chosen)
            stop("SCORPIO_CACHE_DIR is not used: %s: %s.", roots.paths[i], reason.text);
    }
    return stop("Nowhere to unpack the program (%s). Set SCORPIO_CACHE_DIR to a private directory with %llu MB free on a "
                "filesystem that allows programs.", tried,
                (unsigned long long)(payload.toc->unpacked_bytes >> 20) + 20);
}
