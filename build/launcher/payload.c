#define _GNU_SOURCE
#include "payload.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "The payload's numbers are little-endian, and this launcher reads them as they are."
#endif

static const char MAGIC[16] = "scorpio payload";

#define TOC_BYTES_MAX (64u << 20)
#define THREADS_MAX 4
#define BUFFER_BYTES (256u << 10)

/* ---- reading the table ---- */

static int read_exactly(int fd, void *into, uint64_t bytes, uint64_t offset)
{
    char *at = into;
    while (bytes > 0) {
        ssize_t got = pread(fd, at, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        at += got;
        offset += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    return 0;
}

static int read_trailer(Payload *payload, Reason *reason)
{
    struct stat status;
    Trailer *trailer = &payload->trailer;
    if (fstat(payload->fd, &status) < 0)
        return because(reason, "it cannot be examined (%s)", strerror(errno));
    uint64_t bytes = (uint64_t)status.st_size;
    if (bytes < sizeof *trailer || read_exactly(payload->fd, trailer, sizeof *trailer, bytes - sizeof *trailer) < 0)
        return because(reason, "it is too short to hold a program");
    if (memcmp(trailer->magic, MAGIC, sizeof MAGIC) != 0)
        return because(reason, "its end is missing");
    if (trailer->file_bytes != bytes)
        return because(reason, "it has %llu bytes and should have %llu", (unsigned long long)bytes,
                       (unsigned long long)trailer->file_bytes);
    if (trailer->toc_bytes < sizeof(TocHeader) || trailer->toc_bytes > TOC_BYTES_MAX || trailer->toc_offset > bytes ||
        trailer->toc_bytes > bytes - trailer->toc_offset)
        return because(reason, "its table of contents lies outside of it");
    return 0;
}

/* A name that stays inside the directory: relative, no empty part, no "." and no "..". */
static int stays_inside(const char *name)
{
    for (;;) {
        size_t length = strcspn(name, "/");
        if (length == 0 || (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.'))
            return 0;
        if (name[length] == '\0')
            return 1;
        name += length + 1;
    }
}

static int check_name(const Payload *payload, uint32_t name, Reason *reason)
{
    if (name >= payload->toc->names_bytes)
        return because(reason, "its table of contents is damaged");
    if (!stays_inside(payload->names + name))
        return because(reason, "the name \"%.200s\" in it leads out of its directory", payload->names + name);
    return 0;
}

static int check_groups(const Payload *payload, Reason *reason)
{
    const TocHeader *toc = payload->toc;
    uint64_t next_file = 0;
    for (uint32_t i = 0; i < toc->group_count; i++) {
        const Group *group = &payload->groups[i];
        uint64_t bytes = 0;
        if (group->first_file != next_file || group->file_count > toc->file_count - group->first_file)
            return because(reason, "its table of contents is damaged");
        for (uint32_t k = 0; k < group->file_count; k++)
            bytes += payload->files[group->first_file + k].bytes;
        if (bytes != group->unpacked_bytes || group->offset > payload->trailer.toc_offset ||
            group->packed_bytes > payload->trailer.toc_offset - group->offset)
            return because(reason, "its table of contents is damaged");
        next_file += group->file_count;
    }
    return next_file == toc->file_count ? 0 : because(reason, "its table of contents is damaged");
}

static int check_toc(Payload *payload, Reason *reason)
{
    TocHeader *toc = payload->toc;
    uint64_t bytes = sizeof *toc + (uint64_t)toc->group_count * sizeof(Group) + (uint64_t)toc->file_count * sizeof(File) +
                     (uint64_t)toc->directory_count * sizeof(uint32_t) + toc->names_bytes;
    if (bytes != payload->trailer.toc_bytes || toc->names_bytes == 0)
        return because(reason, "its table of contents is damaged");
    payload->groups = (const Group *)(toc + 1);
    payload->files = (const File *)(payload->groups + toc->group_count);
    payload->directories = (const uint32_t *)(payload->files + toc->file_count);
    payload->names = (const char *)(payload->directories + toc->directory_count);
    if (payload->names[toc->names_bytes - 1] != '\0')
        return because(reason, "its table of contents is damaged");
    for (uint32_t i = 0; i < toc->file_count; i++)
        if (check_name(payload, payload->files[i].name, reason) < 0)
            return -1;
    for (uint32_t i = 0; i < toc->directory_count; i++)
        if (check_name(payload, payload->directories[i], reason) < 0)
            return -1;
    return check_groups(payload, reason);
}

int payload_open(Payload *payload, int fd, Reason *reason)
{
    memset(payload, 0, sizeof *payload);
    payload->fd = fd;
    if (read_trailer(payload, reason) < 0)
        return -1;
    const Trailer *trailer = &payload->trailer;
    payload->toc = malloc(trailer->toc_bytes);
    if (payload->toc == NULL)
        return because(reason, "there is no memory for its table of contents");
    if (read_exactly(fd, payload->toc, trailer->toc_bytes, trailer->toc_offset) < 0)
        return because(reason, "its table of contents cannot be read (%s)", strerror(errno));
    if (crc32(0, (const Bytef *)payload->toc, (uInt)trailer->toc_bytes) != trailer->toc_crc32)
        return because(reason, "its table of contents is damaged");
    return check_toc(payload, reason);
}

/* ---- unpacking ---- */

typedef struct {
    const Payload *payload;
    int directory_fd;
    atomic_uint next_group;
    atomic_int failed;
    pthread_mutex_t reason_lock;
    Reason *reason; /* of the first failure */
} Unpacking;

/* Where the next unpacked byte of a group goes. */
typedef struct {
    Unpacking *unpacking;
    const File *file;
    const File *end;
    uint64_t missing; /* bytes of `file` still to come */
    int fd;           /* -1: `file` is not open yet */
} Sink;

static int fail(Unpacking *unpacking, const char *name, const char *what)
{
    pthread_mutex_lock(&unpacking->reason_lock);
    if (!atomic_exchange(&unpacking->failed, 1))
        because(unpacking->reason, "%.200s: %s", name, what);
    pthread_mutex_unlock(&unpacking->reason_lock);
    return -1;
}

static int fail_damaged(Unpacking *unpacking)
{
    fail(unpacking, "the program in it", "its bytes are damaged");
    unpacking->reason->executable_is_damaged = 1;
    return -1;
}

static const char *name_of(const Sink *sink)
{
    return sink->unpacking->payload->names + sink->file->name;
}

static int open_file(Sink *sink)
{
    sink->fd = openat(sink->unpacking->directory_fd, name_of(sink), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      sink->file->executable ? 0700 : 0600);
    sink->missing = sink->file->bytes;
    return sink->fd < 0 ? fail(sink->unpacking, name_of(sink), strerror(errno)) : 0;
}

/* close() reports what a network or quota filesystem refused late. Writing to the disk starts here, all files at
 * once; sync_all() waits for it. */
static int close_file(Sink *sink)
{
    sync_file_range(sink->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    if (close(sink->fd) < 0)
        return fail(sink->unpacking, name_of(sink), strerror(errno));
    sink->fd = -1;
    sink->file++;
    return 0;
}

/* Opens and closes files until one wants bytes, or none is left. */
static int advance(Sink *sink)
{
    while (sink->file < sink->end) {
        if (sink->fd < 0 && open_file(sink) < 0)
            return -1;
        if (sink->missing > 0)
            return 0;
        if (close_file(sink) < 0)
            return -1;
    }
    return 0;
}

static int write_out(Sink *sink, const unsigned char *bytes, size_t count)
{
    while (count > 0) {
        if (advance(sink) < 0)
            return -1;
        if (sink->file == sink->end)
            return fail_damaged(sink->unpacking);
        ssize_t written = write(sink->fd, bytes, count < sink->missing ? count : sink->missing);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail(sink->unpacking, name_of(sink), strerror(errno));
        sink->missing -= (uint64_t)written;
        bytes += written;
        count -= (size_t)written;
    }
    return advance(sink);
}

static int inflate_group(Sink *sink, const Group *group, z_stream *stream, unsigned char *in, unsigned char *out)
{
    uint64_t offset = group->offset, left = group->packed_bytes;
    int state = Z_OK;
    while (state != Z_STREAM_END) {
        if (stream->avail_in == 0 && left > 0) {
            size_t count = left < BUFFER_BYTES ? left : BUFFER_BYTES;
            if (read_exactly(sink->unpacking->payload->fd, in, count, offset) < 0)
                return fail_damaged(sink->unpacking);
            stream->next_in = in;
            stream->avail_in = (uInt)count;
            offset += count;
            left -= count;
        }
        stream->next_out = out;
        stream->avail_out = BUFFER_BYTES;
        state = inflate(stream, Z_NO_FLUSH);
        if (state != Z_OK && state != Z_STREAM_END)
            return fail_damaged(sink->unpacking);
        if (write_out(sink, out, BUFFER_BYTES - stream->avail_out) < 0)
            return -1;
    }
    if (advance(sink) < 0)
        return -1;
    return sink->file == sink->end ? 0 : fail_damaged(sink->unpacking);
}

static int unpack_group(Unpacking *unpacking, const Group *group, unsigned char *buffers)
{
    const File *first = unpacking->payload->files + group->first_file;
    Sink sink = {.unpacking = unpacking, .file = first, .end = first + group->file_count, .fd = -1};
    z_stream stream = {0};
    if (inflateInit(&stream) != Z_OK)
        return fail(unpacking, "unpacking", "there is no memory to unpack it");
    int result = inflate_group(&sink, group, &stream, buffers, buffers + BUFFER_BYTES);
    inflateEnd(&stream);
    if (sink.fd >= 0)
        close(sink.fd);
    return result;
}

static void *unpack_groups(void *argument)
{
    Unpacking *unpacking = argument;
    unsigned char *buffers = malloc(2 * BUFFER_BYTES);
    if (buffers == NULL) {
        fail(unpacking, "unpacking", "there is no memory to unpack it");
        return NULL;
    }
    while (!atomic_load(&unpacking->failed)) {
        unsigned i = atomic_fetch_add(&unpacking->next_group, 1);
        if (i >= unpacking->payload->toc->group_count)
            break;
        if (unpack_group(unpacking, &unpacking->payload->groups[i], buffers) < 0)
            break;
    }
    free(buffers);
    return NULL;
}

static int make_directories(const Payload *payload, int directory_fd, Reason *reason)
{
    for (uint32_t i = 0; i < payload->toc->directory_count; i++) {
        const char *name = payload->names + payload->directories[i];
        if (mkdirat(directory_fd, name, 0700) < 0)
            return because(reason, "%.200s: %s", name, strerror(errno));
    }
    return 0;
}

static int sync_one(const Payload *payload, int directory_fd, uint32_t name_offset, Reason *reason)
{
    const char *name = payload->names + name_offset;
    int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int result = fd >= 0 && fsync(fd) == 0 ? 0 : because(reason, "%.200s: %s", name, strerror(errno));
    if (fd >= 0)
        close(fd);
    return result;
}

/* Waits until all is on the disk: after a power cut the copy is whole, or has no marker. close_file() started the
 * writing, so the first fsync pays for all. */
static int sync_all(const Payload *payload, int directory_fd, Reason *reason)
{
    for (uint32_t i = 0; i < payload->toc->file_count; i++)
        if (sync_one(payload, directory_fd, payload->files[i].name, reason) < 0)
            return -1;
    for (uint32_t i = 0; i < payload->toc->directory_count; i++)
        if (sync_one(payload, directory_fd, payload->directories[i], reason) < 0)
            return -1;
    return 0;
}

static int thread_count(const Payload *payload)
{
    cpu_set_t cpus;
    int count = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    if (count > THREADS_MAX)
        count = THREADS_MAX;
    if ((uint32_t)count > payload->toc->group_count)
        count = (int)payload->toc->group_count;
    return count;
}

int payload_unpack(const Payload *payload, int directory_fd, Reason *reason)
{
    Unpacking unpacking = {.payload = payload, .directory_fd = directory_fd, .reason = reason};
    pthread_t threads[THREADS_MAX];
    int started = 0;
    if (make_directories(payload, directory_fd, reason) < 0)
        return -1;
    pthread_mutex_init(&unpacking.reason_lock, NULL);
    while (started + 1 < thread_count(payload) &&
           pthread_create(&threads[started], NULL, unpack_groups, &unpacking) == 0)
        started++;
    unpack_groups(&unpacking); /* this thread works too, so a machine that grants no thread only waits longer */
    while (started > 0)
        pthread_join(threads[--started], NULL);
    pthread_mutex_destroy(&unpacking.reason_lock);
    if (atomic_load(&unpacking.failed))
        return -1;
    return sync_all(payload, directory_fd, reason);
}
