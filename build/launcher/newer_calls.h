/* Calls of kernels that are younger than the headers of the machine that builds a release (4.18, for glibc 2.28).
 *
 * Their numbers are the same on every architecture. A kernel without them says ENOSYS.
 */
#ifndef NEWER_CALLS_H
#define NEWER_CALLS_H

#include <fcntl.h>
#include <sys/syscall.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif
#ifndef LANDLOCK_CREATE_RULESET_VERSION
enum { LANDLOCK_RULE_PATH_BENEATH = 1 };
struct landlock_path_beneath_attr {
    unsigned long long allowed_access;
    int parent_fd;
} __attribute__((packed));
#endif

#endif
