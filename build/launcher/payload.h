/* The folder that is appended to the launcher: where it is, what is in it, how to unpack it.
 *
 * The file, as build/freeze.py `pack` writes it (numbers are little-endian):
 *
 *     launcher | groups (zlib streams) | table of contents | trailer
 *
 * A group is a run of files, one after the other in one stream, so that several threads can unpack at once.
 * Refuses anything that is not exactly as long, as named and as numbered as the table says. Knows no cache.
 */
#ifndef SCORPIO_PAYLOAD_H
#define SCORPIO_PAYLOAD_H

#include <stdint.h>

#include "reason.h"

#define HASH_BYTES 32

typedef struct {
    char magic[16];
    uint64_t file_bytes; /* of the whole executable: shows a truncated or lengthened one */
    uint64_t toc_offset;
    uint64_t toc_bytes;
    uint32_t toc_crc32;
    uint32_t reserved;
    uint8_t hash[HASH_BYTES]; /* SHA-256 of names, modes and contents; names the unpacked copy */
} Trailer;

typedef struct {
    uint32_t group_count;
    uint32_t file_count;
    uint32_t directory_count;
    uint32_t names_bytes;
    uint64_t unpacked_bytes;
} TocHeader;

typedef struct {
    uint64_t offset; /* in the executable */
    uint64_t packed_bytes;
    uint64_t unpacked_bytes;
    uint32_t first_file;
    uint32_t file_count;
} Group;

typedef struct {
    uint64_t bytes;
    uint32_t name; /* offset into the names */
    uint32_t executable;
} File;

typedef struct {
    int fd;
    Trailer trailer;
    TocHeader *toc;
    const Group *groups;
    const File *files;
    const uint32_t *directories; /* offsets into the names; a directory comes after the one it is in */
    const char *names;           /* NUL-terminated relative paths */
} Payload;

/* Reads and checks trailer and table. `fd` stays the caller's. */
int payload_open(Payload *payload, int fd, Reason *reason);

/* Unpacks all into the empty directory `directory_fd` and has it written to the disk. */
int payload_unpack(const Payload *payload, int directory_fd, Reason *reason);

#endif
