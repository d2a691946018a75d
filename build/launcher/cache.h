/* The cache directory: one unpacked copy of the program per content hash.
 *
 *     <root>/lock                    flock: one start at a time unpacks, replaces or cleans
 *     <root>/app-<hash>/             a copy; `.complete` in it is the marker, written last
 *     <root>/app-<hash>.<random>.tmp being unpacked    .old: replaced, being removed
 *
 * Refuses a root or a copy that somebody else owns or may write to, and a symbolic link in place of either.
 * Knows nothing of what is in a copy beyond names, sizes and modes.
 */
#ifndef SCORPIO_CACHE_H
#define SCORPIO_CACHE_H

#include "payload.h"
#include "reason.h"

#define UNUSED_DAYS_MAX 30

/* A directory descriptor of `root`, made with its missing parents (0700); -1 when it is not private or not usable. */
int cache_open_root(const char *root, Reason *reason);

/* A descriptor of the marker of a whole, private copy, which keeps the copy from being removed while it is open;
 * -1 when there is none. `version` is "app-<hash>". */
int cache_find(int root_fd, const char *version, const Payload *payload);

/* Unpacks a copy, replaces a damaged one, removes what nobody used for 30 days. As cache_find, or -1 with a reason. */
int cache_install(int root_fd, const char *version, const Payload *payload, Reason *reason);

#endif
