/* A server process on two pipes, and the lines it sends. Of client.c; knows no JSON and no options.
 *
 * One server at a time. Every failure ends the program through `die`, which takes the server along.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { EXIT_WAIT_S = 5, READ_BYTES = 64 * 1024 };

static pid_t server;
static int to_server = -1, from_server = -1;
static char *input;
static size_t input_from, input_to, input_room, searched;

static void die(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "client: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    if (server > 0)
        kill(-server, SIGKILL);
    exit(1);
}

static void timed_out(int number) {
    (void)number;
    static const char text[] = "client: no answer within the timeout\n";
    if (write(2, text, sizeof text - 1) < 0 || server > 0)
        kill(-server, SIGKILL);
    _exit(1);
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/* The server's own processor time, user and system, all threads. */
static int64_t server_cpu_ns(void) {
    clockid_t clock;
    return clock_getcpuclockid(server, &clock) == 0 ? clock_ns(clock) : 0;
}

static void run_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        die("processor %d: %s", cpu, strerror(errno));
}

/* In a process group of its own, so that all of it can be killed. A processor below 0: any. */
static void start_server(char **command, const char *errors, int server_cpu, int own_cpu) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        die("pipe: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, pipe_signal;
    sigemptyset(&none);
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
    if (server_cpu >= 0)
        run_on(server_cpu); /* inherited; the client goes to its own afterwards */
    int error = posix_spawnp(&server, command[0], &actions, &attributes, command, environ);
    if (error != 0) {
        server = 0;
        die("%s: %s", command[0], strerror(error));
    }
    if (own_cpu >= 0)
        run_on(own_cpu);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(in[0]);
    close(out[1]);
    to_server = in[1];
    from_server = out[0];
    fcntl(to_server, F_SETFL, O_NONBLOCK); /* the server has a description of its own: it still blocks */
    input_from = input_to = searched = 0;
}

/* End of input; waits for the exit. Returns the nanoseconds it took, or -1 when the server had to be killed. */
static int64_t end_server(void) {
    int64_t started = now_ns();
    close(to_server);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    struct timespec patience = {EXIT_WAIT_S, 0};
    int64_t took = -1;
    for (;;) {
        if (waitpid(server, NULL, WNOHANG) == server) {
            took = now_ns() - started;
            break;
        }
        if (sigtimedwait(&child, NULL, &patience) < 0 && errno == EAGAIN) {
            kill(-server, SIGKILL);
            waitpid(server, NULL, 0);
            break;
        }
    }
    kill(-server, SIGKILL); /* what it left behind */
    close(from_server);
    server = 0;
    return took;
}

static void read_some(void) {
    if (input_from == input_to)
        input_from = input_to = searched = 0;
    if (input_room - input_to < READ_BYTES) {
        memmove(input, input + input_from, input_to - input_from);
        searched -= input_from;
        input_to -= input_from;
        input_from = 0;
        if (input_room - input_to < READ_BYTES && (input = realloc(input, input_room += input_room + (1 << 20))) == NULL)
            die("out of memory");
    }
    ssize_t got = read(from_server, input + input_to, input_room - input_to);
    if (got <= 0)
        die("the server closed its output");
    input_to += (size_t)got;
}

/* The next whole line that has arrived, newline included, or NULL. Valid until the next read. */
static char *arrived_line(size_t *length) {
    char *newline = memchr(input + searched, '\n', input_to - searched);
    if (newline == NULL) {
        searched = input_to;
        return NULL;
    }
    char *line = input + input_from;
    *length = (size_t)(newline - line) + 1;
    input_from = searched = (size_t)(newline - input) + 1;
    return line;
}

/* Writes all of it; takes in what the server sends meanwhile, or both would wait for ever. */
static void send_all(const char *data, size_t length) {
    while (length > 0) {
        ssize_t written = write(to_server, data, length);
        if (written < 0 && errno == EAGAIN) {
            struct pollfd both[2] = {{to_server, POLLOUT, 0}, {from_server, POLLIN, 0}};
            poll(both, 2, -1);
            if (both[1].revents & POLLIN)
                read_some();
            continue;
        }
        if (written < 0)
            die("the server closed its input: %s", strerror(errno));
        data += written;
        length -= (size_t)written;
    }
}

