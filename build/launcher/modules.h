/* All modules in one file, which Python finds as it finds the ones that are frozen into itself: without a look at the disk.
 *
 * The file, as build/freeze.py `module_table` writes it (numbers are little-endian, 32 bits):
 *
 *     count | bytes of the names | rows: name, is it a package, offset in the file, bytes | names | codes
 *
 * A module has the `__file__` that it would have in lib/, so libraries find what lies beside it. Knows only names:
 * extensions, data and what has none stay files.
 */
#ifndef SCORPIO_MODULES_H
#define SCORPIO_MODULES_H

#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    uint32_t name, is_package, offset, bytes;
} ModuleRow;

typedef struct {
    uint32_t count, names_bytes;
    ModuleRow rows[];
} ModuleFile;

enum { PAGE_BYTES = 4096 }; /* the least that a kernel has; a larger one takes whole pages only, or says EINVAL */

static void *mapped;
static size_t mapped_bytes;

static int forget_segments(struct dl_phdr_info *object, size_t bytes, void *unused)
{
    (void)bytes;
    (void)unused;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W)) /* what the loader has written into must stay */
            continue;
        uintptr_t from = (object->dlpi_addr + segment->p_vaddr) & ~(uintptr_t)(PAGE_BYTES - 1);
        madvise((void *)from, object->dlpi_addr + segment->p_vaddr + segment->p_memsz - from, MADV_DONTNEED);
    }
    return 0;
}

/* A start reads modules once, and of libraries much that is not needed again, the kernel mapping 64 KB around each place:
 * 5.7 MB that are let go of when it is done. What is wanted later comes back from the page cache. */
static PyObject *forget_start(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    madvise(mapped, mapped_bytes, MADV_DONTNEED);
    dl_iterate_phdr(forget_segments, NULL);
    Py_RETURN_NONE;
}

static PyMethodDef forget_start_method = {"forget_start", forget_start, METH_NOARGS, NULL};

static const ModuleFile *map_modules(const char *path, size_t *bytes)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *file = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0 && (size_t)status.st_size >= sizeof(ModuleFile))
        file = mmap(NULL, *bytes = (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    return file == MAP_FAILED ? NULL : file;
}

/* Before Python is initialised; the mapping stays for good. -1: there is no such file, or it is not whole. */
static int use_modules(const char *path)
{
    size_t bytes = 0;
    const ModuleFile *file = map_modules(path, &bytes);
    if (file == NULL || file->count > bytes / sizeof(ModuleRow))
        return -1;
    const char *names = (const char *)(file->rows + file->count);
    struct _frozen *table = calloc((size_t)file->count + 1, sizeof *table); /* the last one, empty, ends it */
    if (table == NULL || (size_t)(names - (const char *)file) + file->names_bytes > bytes)
        return -1;
    for (uint32_t i = 0; i < file->count; i++) {
        const ModuleRow *row = &file->rows[i];
        if (row->name >= file->names_bytes || row->offset > bytes || row->bytes > bytes - row->offset)
            return -1;
        table[i].name = names + row->name;
        table[i].code = (const unsigned char *)file + row->offset;
        table[i].size = (int)row->bytes;
        table[i].is_package = (int)row->is_package;
    }
    PyImport_FrozenModules = table;
    mapped = (void *)file;
    mapped_bytes = bytes;
    return 0;
}

#endif
