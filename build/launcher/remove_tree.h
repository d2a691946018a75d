/* A directory removed with all that is in it. Links in it are removed, not followed; what cannot be removed stays. */
#ifndef REMOVE_TREE_H
#define REMOVE_TREE_H

#include <errno.h>
#include <fcntl.h>

#include "linux_calls.h"

enum {
    TREE_DEPTH_MAX = 64,
    TREE_PASSES_MAX = 8, /* some file systems skip entries when others go while they are read */
};

static void remove_tree(long at, const char *name, int depth) {
    char entries[1024] __attribute__((aligned(8)));
    for (int pass = 0; pass < TREE_PASSES_MAX && depth < TREE_DEPTH_MAX; pass++) {
        long count, directory = CALL4(openat, at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        if (directory < 0) return;
        while ((count = CALL3(getdents64, directory, entries, sizeof entries)) > 0) {
            for (long next = 0; next < count; next += *(unsigned short *)(entries + next + 16)) { /* d_reclen */
                const char *entry = entries + next + 19;                                         /* d_name */
                if (entry[0] == '.' && (!entry[1] || (entry[1] == '.' && !entry[2]))) continue;
                long error = CALL3(unlinkat, directory, entry, 0);
                if (error == -EISDIR || error == -EPERM) remove_tree(directory, entry, depth + 1);
            }
        }
        CALL1(close, directory);
        if (CALL3(unlinkat, at, name, AT_REMOVEDIR) != -ENOTEMPTY) return;
    }
}

#endif
