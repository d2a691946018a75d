/* Calls of kernels that are younger than the headers of the machine that builds a release (4.18, for glibc 2.28).
 *
 * Their numbers are the same on every architecture. A kernel without them says ENOSYS.
 */
#ifndef NEWER_CALLS_H
#define NEWER_CALLS_H

#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#endif
