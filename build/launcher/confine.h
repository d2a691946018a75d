/* Confines this process, and all that it will start, before it becomes the command.
 *
 * Decides nothing: scorpio/sandbox.py says what is confined and how, as the strings of a job; scorpio/confine.py is the
 * same in Python. Any step that cannot be taken is an error, so that nothing ever runs half confined.
 *
 * The strings: handled file access, handled network access, scopes (Landlock; three numbers, all 0: none),
 *   namespace ("", "mount", or "user" for a user namespace around it), kept capabilities ("": all, else a bit mask),
 *   seccomp filter (hexadecimal, struct sock_filter after struct sock_filter; may be empty; with a > before it, it is
 *   not installed but can be read from descriptor 9, for a program that sets up more first), and then for each place:
 *   Landlock access (0: none), what it is in the namespace (0: as all others, 1: writable, 2: an empty directory of the
 *   command's own, 3: read-only though it is in a writable one, 4: an empty file), path. A place that does not exist is
 *   skipped; what is in another comes after it. An empty path is the command's output, which may be hidden by then.
 */
#ifndef CONFINE_H
#define CONFINE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>

#include "linux_calls.h"
#include "text.h"

enum {
    CONFINEMENT_FIELDS = 6, /* before the places */
    FILTER_MAX = 1024,      /* instructions; scorpio's filter has some 150, and the kernel takes 4096 */
    CAPABILITIES_MAX = 64,
    FILTER_DESCRIPTOR = 9, /* far from those of the supervisor */
};

enum confinement_field { FILE_ACCESS, NETWORK_ACCESS, SCOPES, NAMESPACE, KEPT_CAPABILITIES, FILTER };

/* Of kernels newer than the headers this may be compiled with. */
struct ruleset { unsigned long long file_access, network_access, scopes; };
struct tree_attributes { unsigned long long set, clear, propagation, user_namespace; };

static long write_text(const char *path, const char *text, const char *end) {
    long file = CALL4(openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
    if (file < 0) return file;
    long written = CALL3(write, file, text, end - text);
    CALL1(close, file);
    return written < 0 ? written : 0;
}

/* An identity maps to itself and to nobody else. */
static long map_identity(const char *path, long id) {
    char line[64], *at = put_number(line, id);
    *at++ = ' ';
    at = put_number(at, id);
    return write_text(path, line, put(at, " 1"));
}

static long own_namespace(int with_user) {
    long user = CALL0(geteuid), group = CALL0(getegid);
    long error = CALL1(unshare, with_user ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS);
    if (error < 0 || !with_user) return error;
    static const char deny[] = "deny";
    error = write_text("/proc/self/setgroups", deny, deny + 4);
    if (!error) error = map_identity("/proc/self/uid_map", user);
    if (!error) error = map_identity("/proc/self/gid_map", group);
    return error;
}

/* Everything read-only but the places: chmod, chown, utime and setxattr too, which Landlock does not know. */
static long read_only_namespace(char **places, long count, int with_user) {
    static const struct tree_attributes read_only = {MS_RDONLY, 0, 0, 0}, writable = {0, MS_RDONLY, 0, 0};
    long error = own_namespace(with_user);
    if (!error) error = CALL5(mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0);
    for (long at = 0; at < count && !error; at += 3) {
        char *path = places[at + 2], kind = places[at + 1][0];
        if (kind == '0') continue;
        error = kind == '2' ? CALL5(mount, "tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
                            : CALL5(mount, kind == '4' ? "/dev/null" : path, path, 0, MS_BIND | MS_REC, 0);
        if (error == -ENOENT) error = 0;
    }
    if (!error) error = CALL5(mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof read_only);
    for (long at = 0; at < count && !error; at += 3) {
        if (places[at + 1][0] != '1' && places[at + 1][0] != '2') continue;
        error = CALL5(mount_setattr, AT_FDCWD, places[at + 2], AT_SYMLINK_NOFOLLOW, &writable, sizeof writable);
        if (error == -ENOENT) error = 0;
    }
    return error;
}

/* Root keeps what Docker leaves it or less: the rest would undo a confinement, or is not about files at all. */
static long drop_capabilities(unsigned long kept) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    for (long each = 0; each < CAPABILITIES_MAX; each++) {
        if (kept >> each & 1 || CALL2(prctl, PR_CAPBSET_READ, each) != 1) continue;
        long error = CALL2(prctl, PR_CAPBSET_DROP, each);
        if (error < 0 && !CALL0(geteuid)) return error; /* others gain none: PR_SET_NO_NEW_PRIVS */
    }
    CALL5(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    long error = CALL2(capget, &header, sets);
    if (error < 0) return error;
    sets[0].inheritable = sets[1].inheritable = 0;
    return CALL2(capset, &header, sets);
}

static long restrict_files(char **strings, char **places, long count) {
    struct ruleset handled = {number(strings[FILE_ACCESS]), number(strings[NETWORK_ACCESS]), number(strings[SCOPES])};
    if (!handled.file_access && !handled.network_access && !handled.scopes) return 0;
    long rules = CALL3(landlock_create_ruleset, &handled, sizeof handled, 0), error = 0;
    if (rules < 0) return rules;
    for (long at = 0; at < count && !error; at += 3) {
        struct landlock_path_beneath_attr rule = {number(places[at]), -1};
        if (!rule.allowed_access) continue;
        int output = !*places[at + 2];
        long place = output ? 1 : CALL4(openat, AT_FDCWD, places[at + 2], O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
        if (place == -ENOENT) continue;
        if (place < 0) return place;
        rule.parent_fd = (int)place;
        error = CALL4(landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
        if (!output) CALL1(close, place);
    }
    if (!error) error = CALL2(landlock_restrict_self, rules, 0);
    CALL1(close, rules);
    return error;
}

static int hexadecimal(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The pipe holds more than a filter has. */
static long hand_over(const void *bytes, long size) {
    int ends[2];
    long error = CALL2(pipe2, ends, O_CLOEXEC);
    if (error < 0) return error;
    error = CALL3(write, ends[1], bytes, size);
    if (error >= 0) error = CALL3(dup3, ends[0], FILTER_DESCRIPTOR, 0);
    CALL1(close, ends[0]);
    CALL1(close, ends[1]);
    return error < 0 ? error : 0;
}

static long filter_calls(const char *text) {
    static struct sock_filter filter[FILTER_MAX];
    unsigned char *bytes = (unsigned char *)filter;
    int handed_over = *text == '>';
    text += handed_over;
    long size = length(text) / 2;
    if (!size) return 0;
    if (size > (long)sizeof filter || size % sizeof *filter) return -E2BIG;
    for (long at = 0; at < size; at++) {
        int high = hexadecimal(text[2 * at]), low = hexadecimal(text[2 * at + 1]);
        if (high < 0 || low < 0) return -EINVAL;
        bytes[at] = (unsigned char)(high << 4 | low);
    }
    if (handed_over) return hand_over(filter, size);
    struct sock_fprog program = {(unsigned short)(size / sizeof *filter), filter};
    return CALL3(seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* 0, or -errno of the first step that could not be taken. For a process that has nothing open but 0, 1 and 2. */
static long confine(char **strings, long count) {
    if (!count) return 0;
    if (count < CONFINEMENT_FIELDS || (count - CONFINEMENT_FIELDS) % 3) return -EINVAL;
    char **places = strings + CONFINEMENT_FIELDS;
    long error = 0;
    count -= CONFINEMENT_FIELDS;
    if (*strings[NAMESPACE]) error = read_only_namespace(places, count, strings[NAMESPACE][0] == 'u');
    if (!error && *strings[KEPT_CAPABILITIES]) error = drop_capabilities(number(strings[KEPT_CAPABILITIES]));
    if (!error) error = CALL5(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!error) error = restrict_files(strings, places, count);
    if (!error) error = filter_calls(strings[FILTER]); /* last: it forbids some of the above */
    return error;
}

#endif
