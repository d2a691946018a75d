/* The inner program: Python with scorpio's modules in `lib/` beside it.
 *
 * Instead of PyInstaller's bootloader, which costs 3 to 35 ms more (README.md) and leaves its variables in the environment
 * of every child. Reads no PYTHON* variable, no site-packages, no user directory; all text is UTF-8.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "modules.h"

/* The directory of this file; the launcher starts it by its absolute path. */
static int find_directory(char directory[PATH_MAX])
{
    const char *started_as = (const char *)getauxval(AT_EXECFN);
    char *slash;
    if (started_as == NULL || realpath(started_as, directory) == NULL || (slash = strrchr(directory, '/')) == NULL)
        return -1;
    *slash = '\0';
    return 0;
}

/* Takes out what was put in front for the loader, which has read it: children must not inherit it. -1 when it is not
 * there. */
static int restore_library_path(const char *libraries)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    size_t length = strlen(libraries);
    if (path == NULL || strncmp(path, libraries, length) != 0)
        return -1;
    if (path[length] == '\0')
        return unsetenv("LD_LIBRARY_PATH");
    return path[length] == ':' ? setenv("LD_LIBRARY_PATH", path + length + 1, 1) : -1;
}

/* Started by its own path (sys.executable) and not by the launcher: once more, with the libraries in the path. */
static int start_again(const char *libraries, const char *program, char **argv)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    char *wanted = malloc(strlen(libraries) + (path ? strlen(path) : 0) + 2);
    if (wanted == NULL)
        return -1;
    sprintf(wanted, "%s%s%s", libraries, path ? ":" : "", path ? path : "");
    if (setenv("LD_LIBRARY_PATH", wanted, 1) == 0)
        execv(program, argv);
    return -1;
}

/* The descriptor whose lock keeps these files from being removed stays with this process alone. */
static void keep_lock_private(void)
{
    const char *fd = getenv("SCORPIO_CACHE_LOCK");
    if (fd == NULL)
        return;
    fcntl(atoi(fd), F_SETFD, FD_CLOEXEC);
    unsetenv("SCORPIO_CACHE_LOCK");
}

static PyStatus configure(PyConfig *config, const char *directory, const char *libraries, const char *program, int argc,
                          char **argv)
{
    wchar_t **prefixes[] = {&config->home, &config->prefix, &config->exec_prefix, &config->base_prefix,
                            &config->base_exec_prefix};
    PyStatus status = PyConfig_SetBytesString(config, &config->executable, program);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !PyStatus_Exception(status); i++)
        status = PyConfig_SetBytesString(config, prefixes[i], directory);
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(config, &config->base_executable, program);
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesArgv(config, argc, argv);
    if (PyStatus_Exception(status))
        return status;
    char main_module[PATH_MAX + 32];
    snprintf(main_module, sizeof main_module, "%s/scorpio/__main__.pyc", libraries);
    status = PyConfig_SetBytesString(config, &config->run_filename, main_module);
    wchar_t *path = Py_DecodeLocale(libraries, NULL);
    if (PyStatus_Exception(status) || path == NULL)
        return path == NULL ? PyStatus_NoMemory() : status;
    status = PyWideStringList_Append(&config->module_search_paths, path);
    PyMem_RawFree(path);
    config->module_search_paths_set = 1;
    return status;
}

static PyStatus start_python(const char *directory, const char *libraries, const char *program, int argc, char **argv)
{
    PyPreConfig before;
    PyConfig config;
    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    PyStatus status = Py_PreInitialize(&before);
    if (PyStatus_Exception(status))
        return status;
    PyConfig_InitIsolatedConfig(&config);
    config.parse_argv = 0;
    config.site_import = 0;
    config.write_bytecode = 0;
    config.optimization_level = 2;
    config.install_signal_handlers = 1; /* SIGINT is KeyboardInterrupt, SIGPIPE an OSError, as in any Python program */
    status = configure(&config, directory, libraries, program, argc, argv);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    return status;
}

static int set(const char *name, PyObject *value)
{
    return value == NULL ? -1 : PySys_SetObject(name, value);
}

/* Libraries ask the first two names, which PyInstaller made customary, whether and where they are bundled. From the third,
 * which Python finds out only for a directory with an os.py, it makes the __file__ of frozen modules. */
static int say_frozen(const char *libraries)
{
    PyObject *path = PyUnicode_DecodeFSDefault(libraries);
    PyObject *forget = PyCFunction_New(&forget_start_method, NULL);
    int result = set("frozen", Py_True) | set("_MEIPASS", path) | set("_stdlib_dir", path) | set("forget_start", forget);
    Py_XDECREF(path);
    Py_XDECREF(forget);
    return result;
}

int main(int argc, char **argv)
{
    char directory[PATH_MAX], libraries[PATH_MAX + 8], program[PATH_MAX + 16], modules[PATH_MAX + 16];
    if (find_directory(directory) < 0) {
        fputs("scorpio: It cannot start: the directory of its program cannot be found.\n", stderr);
        return 1;
    }
    snprintf(libraries, sizeof libraries, "%s/lib", directory);
    snprintf(program, sizeof program, "%s/scorpio", directory);
    if (restore_library_path(libraries) < 0 && start_again(libraries, program, argv) < 0) {
        fprintf(stderr, "scorpio: It cannot start: %s cannot be executed.\n", program);
        return 1;
    }
    keep_lock_private();
    snprintf(modules, sizeof modules, "%s/modules", directory);
    if (use_modules(modules) < 0) {
        fprintf(stderr, "scorpio: It cannot start: %s is missing or damaged.\n", modules);
        return 1;
    }
    PyStatus status = start_python(directory, libraries, program, argc, argv);
    if (PyStatus_Exception(status))
        Py_ExitStatusException(status);
    if (say_frozen(libraries) < 0) {
        PyErr_Print();
        return 1;
    }
    return Py_RunMain();
}
