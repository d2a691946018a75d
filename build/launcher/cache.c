#define _GNU_SOURCE
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define MARKER ".complete"
#define DAY_S 86400
#define LEFTOVER_S 3600          /* a .tmp that old belongs to a start that was killed */
#define LOCK_WAIT_MS 30000       /* then unpack beside whoever hangs: the rename decides */
#define LOCK_POLL_MS 5
#define SPARE_BYTES (16u << 20)  /* room left on the filesystem after unpacking: logs, state */
#define TREE_DEPTH_MAX 32

/* Nobody but this user and root may write to it. */
static int is_private(const struct stat *status, uid_t user)
{
    return (status->st_uid == user || status->st_uid == 0) && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* ---- the root ---- */

static int make_directories(const char *path, Reason *reason)
{
    char part[PATH_MAX];
    if (strlen(path) >= sizeof part)
        return because(reason, "its path is too long");
    for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        size_t length = slash ? (size_t)(slash - path) : strlen(path);
        memcpy(part, path, length);
        part[length] = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST && access(part, F_OK) < 0)
            return because(reason, "%s", strerror(errno));
        if (slash == NULL)
            return 0;
    }
}

/* The user's own directory that a generous umask left writable is closed, not refused: what is in it is judged file by
 * file all the same. */
static int make_private(int fd, Reason *reason)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return because(reason, "%s", strerror(errno));
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return because(reason, "it belongs to another user");
    if (is_private(&status, geteuid()))
        return 0;
    if (status.st_uid != geteuid() || (status.st_mode & S_ISVTX) || fchmod(fd, status.st_mode & 0755) < 0)
        return because(reason, "other users can write in it");
    if (fstat(fd, &status) < 0 || !is_private(&status, geteuid()))
        return because(reason, "its filesystem does not keep file modes");
    return 0;
}

static int refuse_noexec(int fd, Reason *reason)
{
    struct statvfs filesystem;
    if (fstatvfs(fd, &filesystem) == 0 && (filesystem.f_flag & ST_NOEXEC))
        return because(reason, "it is on a filesystem mounted noexec");
    return 0;
}

int cache_open_root(const char *root, Reason *reason)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if (root[0] != '/')
        return because(reason, "it is not an absolute path");
    int fd = open(root, flags);
    if (fd < 0 && errno == ENOENT) {
        if (make_directories(root, reason) < 0)
            return -1;
        fd = open(root, flags);
    }
    if (fd < 0)
        return errno == ELOOP || errno == ENOTDIR ? because(reason, "it is a symbolic link or not a directory")
                                                  : because(reason, "%s", strerror(errno));
    if (make_private(fd, reason) < 0 || refuse_noexec(fd, reason) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- a copy ---- */

static void marker_text(const Payload *payload, char text[2 * HASH_BYTES + 2])
{
    for (int i = 0; i < HASH_BYTES; i++)
        sprintf(text + 2 * (size_t)i, "%02x", payload->trailer.hash[i]);
    strcpy(text + 2 * (size_t)HASH_BYTES, "\n");
}

/* By size and mode only: about 0.3 ms for a thousand files. Their bytes were checked when they were unpacked. */
static int files_are_whole(int version_fd, const Payload *payload)
{
    uid_t user = geteuid();
    struct stat status;
    for (uint32_t i = 0; i < payload->toc->file_count; i++) {
        const File *file = &payload->files[i];
        if (fstatat(version_fd, payload->names + file->name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(status.st_mode) || (uint64_t)status.st_size != file->bytes || !is_private(&status, user))
            return 0;
    }
    for (uint32_t i = 0; i < payload->toc->directory_count; i++)
        if (fstatat(version_fd, payload->names + payload->directories[i], &status, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISDIR(status.st_mode) || !is_private(&status, user))
            return 0;
    return 1;
}

/* The shared lock on the marker ends with the process: lock_unused() asks for it. */
static int open_marker(int version_fd, const Payload *payload)
{
    char expected[2 * HASH_BYTES + 2], found[sizeof expected] = "";
    struct stat status;
    int fd = openat(version_fd, MARKER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    marker_text(payload, expected);
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !is_private(&status, geteuid()) ||
        read(fd, found, sizeof found - 1) != sizeof expected - 1 || strcmp(found, expected) != 0) {
        close(fd);
        return -1;
    }
    if (flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK) { /* it is being removed */
        close(fd);
        return -1;
    }
    if (status.st_mtime < time(NULL) - DAY_S)
        futimens(fd, NULL); /* "used today"; a copy that root installed for all stays as it is */
    return fd;
}

int cache_find(int root_fd, const char *version, const Payload *payload)
{
    struct stat status;
    int marker_fd = -1;
    int fd = openat(root_fd, version, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && is_private(&status, geteuid()) && files_are_whole(fd, payload))
        marker_fd = open_marker(fd, payload);
    close(fd);
    return marker_fd;
}

/* ---- removing ---- */

static int remove_tree(int parent_fd, const char *name, int depth);

static int remove_contents(int fd, int depth)
{
    DIR *directory = fdopendir(fd);
    struct dirent *entry;
    int result = 0;
    if (directory == NULL) {
        close(fd);
        return -1;
    }
    while ((entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result |= remove_tree(dirfd(directory), entry->d_name, depth + 1);
    closedir(directory);
    return result;
}

/* Never follows a symbolic link. */
static int remove_tree(int parent_fd, const char *name, int depth)
{
    if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    int fd = depth < TREE_DEPTH_MAX ? openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd < 0 || remove_contents(fd, depth) < 0)
        return -1;
    return unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* The lock of a copy that no running scorpio uses; cache_find() does not return the copy while it is held. -1 without a
 * marker (nobody can run it), BUSY when one does use it or nobody can tell. */
#define BUSY (-2)
static int lock_unused(int root_fd, const char *version)
{
    char marker[NAME_MAX + sizeof MARKER + 2];
    snprintf(marker, sizeof marker, "%s/%s", version, MARKER);
    int fd = openat(root_fd, marker, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    return BUSY;
}

static void beside(char name[NAME_MAX + 1], const char *version, const char *ending)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (uint64_t)time(NULL) << 22 ^ (uint64_t)getpid();
    snprintf(name, NAME_MAX + 1, "%s.%016llx%s", version, (unsigned long long)random, ending);
}

/* Renames first, so that nobody finds half of it. A copy in use keeps its files, and goes with a later cleaning. */
static void remove_version(int root_fd, const char *version)
{
    char old[NAME_MAX + 1];
    int lock_fd = lock_unused(root_fd, version);
    beside(old, version, ".old");
    if (renameat(root_fd, version, root_fd, old) == 0 && lock_fd != BUSY)
        remove_tree(root_fd, old, 0);
    if (lock_fd >= 0)
        close(lock_fd);
}

static int ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), wanted = strlen(ending);
    return length >= wanted && strcmp(name + length - wanted, ending) == 0;
}

static int is_stale(int root_fd, const char *name)
{
    char marker[NAME_MAX + sizeof MARKER + 2];
    struct stat status;
    if (ends_with(name, ".old"))
        return 1;
    if (ends_with(name, ".tmp"))
        return fstatat(root_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mtime < time(NULL) - LEFTOVER_S;
    snprintf(marker, sizeof marker, "%s/%s", name, MARKER);
    return fstatat(root_fd, marker, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_mtime < time(NULL) - UNUSED_DAYS_MAX * DAY_S;
}

static void remove_stale(int root_fd, const char *name)
{
    int lock_fd = is_stale(root_fd, name) ? lock_unused(root_fd, name) : BUSY;
    if (lock_fd == BUSY)
        return;
    char old[NAME_MAX + 1];
    beside(old, "app-stale", ".old");
    if (renameat(root_fd, name, root_fd, old) == 0)
        remove_tree(root_fd, old, 0);
    if (lock_fd >= 0)
        close(lock_fd);
}

static void clean(int root_fd, const char *version)
{
    int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    if (directory == NULL)
        return;
    while ((entry = readdir(directory)) != NULL)
        if (strncmp(entry->d_name, "app-", 4) == 0 && strcmp(entry->d_name, version) != 0)
            remove_stale(root_fd, entry->d_name);
    closedir(directory);
}

/* ---- installing ---- */

/* -1 when the lock cannot be had: then go on without, the rename still lets only whole copies appear. */
static int take_lock(int root_fd)
{
    int fd = openat(root_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    struct timespec pause = {.tv_nsec = LOCK_POLL_MS * 1000000L};
    for (int waited_ms = 0; fd >= 0 && waited_ms < LOCK_WAIT_MS; waited_ms += LOCK_POLL_MS) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        nanosleep(&pause, NULL);
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static int refuse_full(int root_fd, const Payload *payload, Reason *reason)
{
    struct statvfs filesystem;
    uint64_t wanted = payload->toc->unpacked_bytes + SPARE_BYTES;
    if (fstatvfs(root_fd, &filesystem) == 0 && (uint64_t)filesystem.f_bavail * filesystem.f_frsize < wanted)
        return because(reason, "it has less than the %llu MB free that are needed",
                       (unsigned long long)(wanted >> 20) + 1);
    return 0;
}

static int write_marker(int version_fd, const Payload *payload, Reason *reason)
{
    char text[2 * HASH_BYTES + 2];
    marker_text(payload, text);
    int fd = openat(version_fd, MARKER, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return because(reason, "%s: %s", MARKER, strerror(errno));
    int written = write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1 && fsync(fd) == 0;
    if (close(fd) < 0 || !written || fsync(version_fd) < 0)
        return because(reason, "%s: %s", MARKER, strerror(errno));
    return 0;
}

static int unpack_into(int root_fd, const char *name, const Payload *payload, Reason *reason)
{
    struct stat status;
    if (mkdirat(root_fd, name, 0700) < 0)
        return because(reason, "%s", strerror(errno));
    int fd = openat(root_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int result;
    if (fd < 0 || fstat(fd, &status) < 0)
        result = because(reason, "%s", strerror(errno));
    else if (status.st_uid != geteuid() || !is_private(&status, geteuid()))
        result = because(reason, "its filesystem does not keep owners and file modes");
    else
        result = payload_unpack(payload, fd, reason) < 0 ? -1 : write_marker(fd, payload, reason);
    if (fd >= 0)
        close(fd);
    return result;
}

/* Puts the whole copy in place. A copy that is there and not empty stops the rename: it is ours to replace only when
 * it is not whole, else somebody was quicker. */
static int put_in_place(int root_fd, const char *name, const char *version, const Payload *payload, Reason *reason)
{
    for (int attempt = 0; attempt < 3; attempt++) {
        int renamed = renameat(root_fd, name, root_fd, version) == 0;
        int error = errno;
        int marker_fd = cache_find(root_fd, version, payload);
        if (renamed)
            fsync(root_fd);
        if (marker_fd >= 0)
            return marker_fd;
        if (renamed)
            return because(reason, "its filesystem does not keep what is written to it");
        if (error != EEXIST && error != ENOTEMPTY && error != ENOTDIR)
            return because(reason, "%s cannot be put in place (%s)", version, strerror(error));
        remove_version(root_fd, version);
    }
    return because(reason, "%s is damaged and cannot be removed", version);
}

int cache_install(int root_fd, const char *version, const Payload *payload, Reason *reason)
{
    char name[NAME_MAX + 1];
    int lock_fd = take_lock(root_fd);
    int marker_fd = cache_find(root_fd, version, payload);
    if (marker_fd < 0)
        clean(root_fd, version);
    if (marker_fd < 0 && refuse_full(root_fd, payload, reason) == 0) {
        beside(name, version, ".tmp");
        if (unpack_into(root_fd, name, payload, reason) == 0)
            marker_fd = put_in_place(root_fd, name, version, payload, reason);
        remove_tree(root_fd, name, 0);
    }
    if (lock_fd >= 0)
        close(lock_fd);
    return marker_fd;
}
