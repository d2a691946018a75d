/* The measuring client: starts a server on pipes, shakes hands, sends one request again and again, and times it.
 *
 *     client --handshake FILE --request FILE [options] -- COMMAND...       round trips
 *     client --handshake FILE --start [--count N] -- COMMAND...            exec to the first answer
 *
 * Every subject is measured by this same program, so what it adds is the same for all. A request file holds one line
 * whose id is seven digits at byte 22; the client counts it up. Answers are compared with the first one byte by byte,
 * the id aside, and outside the timed part. Prints one JSON object; says on stderr what went wrong and exits 1.
 *
 * Does not parse JSON. A line without an expected id in its first or last 64 bytes is another message, and is counted.
 */
#include "server_pipes.h"

#include <stddef.h>

enum {
    ID_OFFSET = 22,
    ID_DIGITS = 7,
    FIRST_ID = 1000000,
    COUNT_MAX = 8000000, /* ids keep their seven digits */
    EDGE_BYTES = 64,
};

static struct {
    const char *handshake, *request, *keep, *errors;
    int count, warm, in_flight, timeout_s, own_cpu, server_cpu, start, pause_ms;
    int64_t budget_ns;
    char **command;
} options = {.count = 1000, .in_flight = 1, .timeout_s = 60, .own_cpu = -1, .server_cpu = -1, .budget_ns = INT64_MAX};

static char *first_answer; /* id digits as they came */
static size_t first_bytes;
static ptrdiff_t first_id_offset = -1;
static long answers, differing, other_lines;
static int next_id = FIRST_ID + 1; /* an id is never used twice in a session */

static char *load(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        die("%s: %s", path, strerror(errno));
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *data = malloc((size_t)size + 1);
    if (data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size)
        die("%s could not be read", path);
    fclose(file);
    data[size] = 0;
    *length = (size_t)size;
    return data;
}

static void put_id(char *line, int id) {
    for (int digit = ID_DIGITS - 1; digit >= 0; digit--, id /= 10)
        line[ID_OFFSET + digit] = (char)('0' + id % 10);
}

static int id_at(const char *digits) {
    int id = 0;
    for (int digit = 0; digit < ID_DIGITS; digit++) {
        if (digits[digit] < '0' || digits[digit] > '9')
            return -1;
        id = id * 10 + digits[digit] - '0';
    }
    return id;
}

/* Where the id's digits stand in a line, or -1: SDKs put it first or last. */
static ptrdiff_t id_offset(const char *line, size_t length) {
    size_t edge = length < EDGE_BYTES ? length : EDGE_BYTES;
    const char *at = memmem(line, edge, "\"id\":", 5);
    if (at == NULL)
        at = memmem(line + length - edge, edge, "\"id\":", 5);
    if (at == NULL || at + 5 + ID_DIGITS >= line + length || id_at(at + 5) < FIRST_ID)
        return -1;
    return at + 5 - line;
}

/* Compares an answer with the first; returns its id, or -1 for a line that is no answer of ours. */
static int checked(const char *line, size_t length) {
    ptrdiff_t offset = id_offset(line, length);
    if (offset < 0) {
        other_lines++;
        return -1;
    }
    if (first_answer == NULL) {
        first_answer = memcpy(malloc(length), line, length);
        first_bytes = length;
        first_id_offset = offset;
    } else if (length != first_bytes || offset != first_id_offset || memcmp(line, first_answer, (size_t)offset) != 0 ||
               memcmp(line + offset + ID_DIGITS, first_answer + offset + ID_DIGITS,
                      length - (size_t)offset - ID_DIGITS) != 0) {
        differing++;
    }
    answers++;
    return id_at(line + offset);
}

static void await_answer(int id) {
    for (;;) {
        size_t length;
        char *line = arrived_line(&length);
        if (line == NULL) {
            read_some();
            continue;
        }
        int answered = checked(line, length);
        if (answered == id)
            return;
        if (answered >= 0)
            die("the server answered id %d where %d was asked", answered, id);
    }
}

/* Sends the handshake line by line, each request after the answer to the one before; stops after `requests_max`. */
static void shake_hands(const char *lines, int requests_max) {
    int requests = 0;
    while (*lines != 0 && requests < requests_max) {
        size_t length = strcspn(lines, "\n") + 1;
        send_all(lines, length);
        if (id_offset(lines, length) >= 0) {
            await_answer(id_at(lines + ID_OFFSET));
            requests++;
        }
        lines += length;
    }
}

static void forget_answers(void) {
    free(first_answer);
    first_answer = NULL;
    answers = differing = 0;
}

static int64_t round_trip(char *request, size_t length) {
    int id = next_id++;
    put_id(request, id);
    int64_t sent = now_ns();
    send_all(request, length);
    size_t bytes;
    char *line;
    while ((line = arrived_line(&bytes)) == NULL)
        read_some();
    int64_t took = now_ns() - sent;
    if (checked(line, bytes) == id)
        return took;
    await_answer(id); /* another message came first: still one round trip, timed to its true end */
    return now_ns() - sent;
}

static int64_t budget_end_ns(void) {
    return options.budget_ns == INT64_MAX ? INT64_MAX : now_ns() + options.budget_ns;
}

static long one_by_one(char *request, size_t length, long wanted, int64_t *samples) {
    int64_t ends = budget_end_ns();
    long taken = 0;
    struct timespec pause = {options.pause_ms / 1000, options.pause_ms % 1000 * 1000000L};
    do {
        if (options.pause_ms > 0)
            nanosleep(&pause, NULL); /* a model thinks between two calls */
        samples[taken++] = round_trip(request, length);
    } while (taken < wanted && now_ns() < ends);
    return taken;
}

/* A window of requests in flight. A sample is the time of `in_flight` answers divided by their number. */
static long pipelined(const char *request, size_t length, long wanted, int64_t *samples) {
    int window = options.in_flight, first = next_id;
    char *lines = malloc(length * (size_t)window);
    if (lines == NULL)
        die("out of memory");
    for (int slot = 0; slot < window; slot++)
        memcpy(lines + length * (size_t)slot, request, length);
    int64_t ends = budget_end_ns(), last = now_ns();
    long sent = 0, done = 0, taken = 0;
    wanted -= wanted % window;
    while (done < wanted) {
        long more = wanted - sent < window - (sent - done) ? wanted - sent : window - (sent - done);
        for (long slot = 0; slot < more; slot++)
            put_id(lines + length * (size_t)slot, next_id++);
        send_all(lines, length * (size_t)more);
        sent += more;
        read_some();
        size_t bytes;
        for (char *line; (line = arrived_line(&bytes)) != NULL;) {
            int id = checked(line, bytes);
            if (id >= 0 && (id < first || id >= next_id))
                die("the server answered id %d, which was not asked", id);
            if (id < 0 || ++done % window != 0)
                continue;
            int64_t now = now_ns();
            samples[taken++] = (now - last) / window;
            last = now;
            if (now >= ends)
                wanted = sent; /* only what is in flight is still awaited */
        }
    }
    free(lines);
    return taken;
}

static long measured(char *request, size_t length, long wanted, int64_t *samples) {
    return options.in_flight > 1 ? pipelined(request, length, wanted, samples)
                                 : one_by_one(request, length, wanted, samples);
}

static uint64_t fnv1a(void) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t at = 0; at < first_bytes; at++) {
        int in_id = (ptrdiff_t)at >= first_id_offset && (ptrdiff_t)at < first_id_offset + ID_DIGITS;
        hash = (hash ^ (in_id ? '0' : (unsigned char)first_answer[at])) * 0x100000001b3u;
    }
    return hash;
}

static void report(const int64_t *samples, long taken, int64_t elapsed, int64_t cpu, int64_t exit_ns) {
    if (options.keep != NULL) {
        FILE *file = fopen(options.keep, "wb");
        if (file == NULL || fwrite(first_answer, 1, first_bytes, file) != first_bytes || fclose(file) != 0)
            die("%s could not be written", options.keep);
    }
    printf("{\"answers\":%ld,\"differing\":%ld,\"other_lines\":%ld,\"answer_bytes\":%zu,\"hash\":\"%016llx\","
           "\"elapsed_ns\":%lld,\"cpu_ns\":%lld,\"exit_ns\":%lld,\"samples_ns\":[",
           answers, differing, other_lines, first_bytes, (unsigned long long)fnv1a(), (long long)elapsed,
           (long long)cpu, (long long)exit_ns);
    for (long sample = 0; sample < taken; sample++)
        printf(sample ? ",%lld" : "%lld", (long long)samples[sample]);
    printf("]}\n");
}

static void measure_starts(const char *handshake, int64_t *samples) {
    int64_t exit_ns = 0;
    for (int run = -options.warm; run < options.count; run++) {
        int64_t started = now_ns();
        start_server(options.command, options.errors, options.server_cpu, options.own_cpu);
        shake_hands(handshake, 1);
        if (run >= 0)
            samples[run] = now_ns() - started;
        int64_t took = end_server();
        exit_ns = took < 0 || exit_ns < 0 ? -1 : took > exit_ns ? took : exit_ns;
    }
    report(samples, options.count, 0, 0, exit_ns);
}

static void measure_round_trips(const char *handshake, int64_t *samples) {
    size_t length;
    char *request = load(options.request, &length);
    if (length < ID_OFFSET + ID_DIGITS || id_offset(request, length) != ID_OFFSET || request[length - 1] != '\n')
        die("%s is not one request line with its id at byte %d", options.request, ID_OFFSET);
    start_server(options.command, options.errors, options.server_cpu, options.own_cpu);
    shake_hands(handshake, COUNT_MAX);
    if (options.warm > 0)
        measured(request, length, options.warm, samples);
    forget_answers();
    int64_t cpu = server_cpu_ns(), started = now_ns();
    long taken = measured(request, length, options.count, samples);
    int64_t elapsed = now_ns() - started;
    cpu = server_cpu_ns() - cpu;
    report(samples, taken, elapsed, cpu, end_server());
}

static int number(const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*end != 0 || end == text || value < 0 || value > COUNT_MAX)
        die("%s is not a number from 0 to %d", text, COUNT_MAX);
    return (int)value;
}

static void read_options(char **arguments) {
    for (arguments++; *arguments != NULL && strcmp(*arguments, "--") != 0; arguments++) {
        const char *name = *arguments;
        if (strcmp(name, "--start") == 0) {
            options.start = 1;
            continue;
        }
        const char *value = *++arguments;
        if (value == NULL)
            die("%s needs a value", name);
        if (strcmp(name, "--handshake") == 0) options.handshake = value;
        else if (strcmp(name, "--request") == 0) options.request = value;
        else if (strcmp(name, "--keep") == 0) options.keep = value;
        else if (strcmp(name, "--errors") == 0) options.errors = value;
        else if (strcmp(name, "--count") == 0) options.count = number(value);
        else if (strcmp(name, "--warm") == 0) options.warm = number(value);
        else if (strcmp(name, "--in-flight") == 0) options.in_flight = number(value);
        else if (strcmp(name, "--timeout-s") == 0) options.timeout_s = number(value);
        else if (strcmp(name, "--budget-ms") == 0) options.budget_ns = (int64_t)number(value) * 1000000;
        else if (strcmp(name, "--pause-ms") == 0) options.pause_ms = number(value);
        else if (strcmp(name, "--own-cpu") == 0) options.own_cpu = number(value);
        else if (strcmp(name, "--server-cpu") == 0) options.server_cpu = number(value);
        else die("unknown option %s", name);
    }
    if (*arguments == NULL || arguments[1] == NULL)
        die("the server's command is missing: it stands after --");
    options.command = arguments + 1;
    if (options.handshake == NULL || (options.request == NULL && !options.start))
        die("--handshake FILE, and --request FILE or --start, are needed");
    if (options.count < 1 || options.in_flight < 1 || options.in_flight > options.count)
        die("--count and --in-flight start at 1, and --count is not below --in-flight");
    if (options.warm > 0 && options.in_flight > options.warm)
        options.warm = options.in_flight;
    if (options.count + options.warm > COUNT_MAX)
        die("--count and --warm together are at most %d", COUNT_MAX);
    if (options.errors == NULL)
        options.errors = "/dev/null";
}

int main(int count, char **arguments) {
    (void)count;
    read_options(arguments);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, timed_out);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    alarm((unsigned)options.timeout_s);
    size_t length;
    const char *handshake = load(options.handshake, &length);
    int64_t *samples = calloc((size_t)options.count + (size_t)options.warm, sizeof *samples);
    input = malloc(input_room = 1 << 20);
    if (samples == NULL || input == NULL)
        die("out of memory");
    if (options.start)
        measure_starts(handshake, samples);
    else
        measure_round_trips(handshake, samples);
    free(samples);
    return 0;
}
