/* The measuring client for HTTP: many connections to one server, one request in flight on each, again and again.
 *
 *     http_client --port N --head FILE --body FILE [--connections N] [--count N] [--warm N] [--budget-ms N] [--keep FILE]
 *
 * The head file holds a request line and headers, each with CR LF, without Content-Length and the blank line. The body
 * file holds one JSON object whose id is seven digits at byte 22; the client counts it up. An answer is the JSON from
 * the first brace of the response's body to the last, so that an SSE event counts as what it carries; answers are
 * compared byte by byte, the id aside. Prints one JSON object; says on stderr what went wrong and exits 1.
 *
 * Parses no JSON and of HTTP only what frames a response: status 200, Content-Length or chunks.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    ID_OFFSET = 22,
    ID_DIGITS = 7,
    FIRST_ID = 1000000,
    CONNECTIONS_MAX = 1024,
    RESPONSE_BYTES_MAX = 1 << 20,
};

struct connection {
    int socket;
    char *input;
    size_t filled;
};

static struct {
    const char *head, *body, *keep;
    long count, warm;
    int port, connections, timeout_s;
    int64_t budget_ns;
} options = {.count = 20000, .warm = 500, .connections = 64, .timeout_s = 60, .budget_ns = INT64_MAX};

static struct connection connections[CONNECTIONS_MAX];
static char *request;
static size_t request_bytes, id_at;
static char *first_answer;
static size_t first_bytes;
static ptrdiff_t first_id_offset = -1;
static long answers, differing;
static int next_id = FIRST_ID + 1;

static void die(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "http_client: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    exit(1);
}

static void timed_out(int number) {
    (void)number;
    static const char text[] = "http_client: no answer within the timeout\n";
    _exit(write(2, text, sizeof text - 1) < 0 ? 2 : 1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static char *load(const char *path, size_t *length) {
    FILE *file = path == NULL ? NULL : fopen(path, "rb");
    if (file == NULL)
        die("%s: %s", path == NULL ? "--head and --body" : path, strerror(errno));
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

static void make_request(void) {
    size_t head_bytes, body_bytes;
    char *head = load(options.head, &head_bytes), *body = load(options.body, &body_bytes);
    if (body_bytes < ID_OFFSET + ID_DIGITS || memcmp(body + ID_OFFSET - 5, "\"id\":", 5) != 0)
        die("%s has no id at byte %d", options.body, ID_OFFSET);
    char length[64];
    int length_bytes = snprintf(length, sizeof length, "Content-Length: %zu\r\n\r\n", body_bytes);
    request_bytes = head_bytes + (size_t)length_bytes + body_bytes;
    request = malloc(request_bytes);
    if (request == NULL)
        die("out of memory");
    memcpy(request, head, head_bytes);
    memcpy(request + head_bytes, length, (size_t)length_bytes);
    memcpy(request + head_bytes + length_bytes, body, body_bytes);
    id_at = head_bytes + (size_t)length_bytes + ID_OFFSET;
    free(head);
    free(body);
}

static void ask(struct connection *connection) {
    int id = next_id++;
    for (int digit = ID_DIGITS - 1; digit >= 0; digit--, id /= 10)
        request[id_at + (size_t)digit] = (char)('0' + id % 10);
    for (size_t sent = 0; sent < request_bytes;) {
        ssize_t more = send(connection->socket, request + sent, request_bytes - sent, MSG_NOSIGNAL);
        if (more < 0)
            die("the server does not take a request: %s", strerror(errno));
        sent += (size_t)more;
    }
}

static void open_connection(struct connection *connection, int poll) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->socket < 0 || connect(connection->socket, (struct sockaddr *)&address, sizeof address) != 0)
        die("port %d: %s", options.port, strerror(errno));
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    connection->input = malloc(RESPONSE_BYTES_MAX + 1);
    if (connection->input == NULL)
        die("out of memory");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(poll, EPOLL_CTL_ADD, connection->socket, &event);
}

/* The value of a header in a head that ends with a zero, or NULL. */
static const char *header(const char *head, const char *name) {
    size_t length = strlen(name);
    for (const char *line = strchr(head, '\n'); line != NULL; line = strchr(line + 1, '\n'))
        if (strncasecmp(line + 1, name, length) == 0 && line[1 + length] == ':')
            return line + 2 + length + strspn(line + 2 + length, " ");
    return NULL;
}

/* Bytes of the whole response, 0 while it is not there; *body is where its content begins. */
static size_t whole_response(struct connection *connection, char **body) {
    char *input = connection->input;
    input[connection->filled] = 0;
    char *end = memmem(input, connection->filled, "\r\n\r\n", 4);
    if (end == NULL)
        return 0;
    if (strncmp(input, "HTTP/1.1 200", 12) != 0)
        die("the server answered %.300s", input);
    *body = end + 4;
    size_t there = connection->filled - (size_t)(*body - input);
    *end = 0;
    const char *length = header(input, "content-length"), *coding = header(input, "transfer-encoding");
    *end = '\r';
    if (length != NULL) {
        size_t bytes = strtoul(length, NULL, 10);
        return there < bytes ? 0 : (size_t)(*body - input) + bytes;
    }
    if (coding == NULL)
        die("the response has neither Content-Length nor chunks: %.300s", input);
    for (char *chunk = *body;;) {
        char *line = memmem(chunk, connection->filled - (size_t)(chunk - input), "\r\n", 2);
        if (line == NULL)
            return 0;
        size_t bytes = strtoul(chunk, NULL, 16);
        if ((size_t)(line - input) + 2 + bytes + 2 > connection->filled)
            return 0;
        chunk = line + 2 + bytes + 2;
        if (bytes == 0)
            return (size_t)(chunk - input);
    }
}

static void compare(const char *body, size_t length) {
    const char *first = memchr(body, '{', length), *last = memrchr(body, '}', length);
    if (first == NULL)
        die("an answer without JSON: %.300s", body);
    size_t bytes = (size_t)(last - first) + 1;
    const char *id = memmem(first, bytes, "\"id\":", 5);
    ptrdiff_t offset = id == NULL ? -1 : id + 5 - first;
    answers++;
    if (first_answer == NULL) {
        if (memmem(first, bytes, "\"error\":", 8) != NULL)
            die("the server answered an error: %.300s", first);
        first_answer = memcpy(malloc(bytes), first, bytes);
        first_bytes = bytes;
        first_id_offset = offset;
    } else if (bytes != first_bytes || offset != first_id_offset || memcmp(first, first_answer, (size_t)offset) != 0 ||
               memcmp(first + offset + ID_DIGITS, first_answer + offset + ID_DIGITS,
                      bytes - (size_t)offset - ID_DIGITS) != 0) {
        differing++;
    }
}

/* Answers until `wanted` are there or the time is over. A sample is the time of as many answers as there are
 * connections, divided by their number. Returns how many samples there are. */
static long run(int poll, long wanted, int64_t budget_ns, int64_t *samples) {
    int64_t last = now_ns(), ends = budget_ns == INT64_MAX ? INT64_MAX : last + budget_ns;
    long asked = 0, done = 0, taken = 0;
    for (int index = 0; index < options.connections && asked < wanted; index++, asked++)
        ask(&connections[index]);
    struct epoll_event events[CONNECTIONS_MAX];
    while (done < asked) {
        int ready = epoll_wait(poll, events, CONNECTIONS_MAX, options.timeout_s * 1000);
        for (int index = 0; index < ready; index++) {
            struct connection *connection = events[index].data.ptr;
            ssize_t got = recv(connection->socket, connection->input + connection->filled,
                               RESPONSE_BYTES_MAX - connection->filled, 0);
            if (got <= 0)
                die("the server closed a connection after %.300s", connection->input);
            connection->filled += (size_t)got;
            char *body;
            size_t bytes = whole_response(connection, &body);
            if (bytes == 0)
                continue;
            compare(body, bytes - (size_t)(body - connection->input));
            connection->filled = 0;
            if (++done % options.connections == 0) {
                int64_t now = now_ns();
                if (samples != NULL)
                    samples[taken++] = (now - last) / options.connections;
                last = now;
                if (now >= ends)
                    wanted = asked; /* only what is on its way is still awaited */
            }
            if (asked < wanted) {
                ask(connection);
                asked++;
            }
        }
    }
    return taken;
}

static uint64_t fnv1a(void) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t at = 0; at < first_bytes; at++) {
        int in_id = (ptrdiff_t)at >= first_id_offset && (ptrdiff_t)at < first_id_offset + ID_DIGITS;
        hash = (hash ^ (in_id ? '0' : (unsigned char)first_answer[at])) * 0x100000001b3u;
    }
    return hash;
}

static void parse(int count, char **arguments) {
    for (int index = 1; index + 1 < count; index += 2) {
        const char *name = arguments[index], *value = arguments[index + 1];
        if (strcmp(name, "--port") == 0)
            options.port = atoi(value);
        else if (strcmp(name, "--head") == 0)
            options.head = value;
        else if (strcmp(name, "--body") == 0)
            options.body = value;
        else if (strcmp(name, "--keep") == 0)
            options.keep = value;
        else if (strcmp(name, "--connections") == 0)
            options.connections = atoi(value);
        else if (strcmp(name, "--count") == 0)
            options.count = atol(value);
        else if (strcmp(name, "--warm") == 0)
            options.warm = atol(value);
        else if (strcmp(name, "--budget-ms") == 0)
            options.budget_ns = atoll(value) * 1000000;
        else
            die("there is no option %s", name);
    }
    if (options.port <= 0 || options.connections < 1 || options.connections > CONNECTIONS_MAX || options.count < 1)
        die("wrong options");
}

int main(int count, char **arguments) {
    parse(count, arguments);
    signal(SIGALRM, timed_out);
    alarm((unsigned)options.timeout_s);
    make_request();
    int poll = epoll_create1(EPOLL_CLOEXEC);
    for (int index = 0; index < options.connections; index++)
        open_connection(&connections[index], poll);
    if (options.warm > 0)
        run(poll, options.warm, INT64_MAX, NULL);
    answers = differing = 0;
    int64_t *samples = calloc((size_t)options.count, sizeof *samples);
    if (samples == NULL)
        die("out of memory");
    int64_t started = now_ns();
    long taken = run(poll, options.count, options.budget_ns, samples);
    int64_t elapsed = now_ns() - started;
    if (options.keep != NULL) {
        FILE *file = fopen(options.keep, "wb");
        if (file == NULL || fwrite(first_answer, 1, first_bytes, file) != first_bytes || fclose(file) != 0)
            die("%s could not be written", options.keep);
    }
    printf("{\"answers\":%ld,\"differing\":%ld,\"hash\":\"%016llx\",\"elapsed_ns\":%lld,\"samples_ns\":[", answers,
           differing, (unsigned long long)fnv1a(), (long long)elapsed);
    for (long sample = 0; sample < taken; sample++)
        printf(sample ? ",%lld" : "%lld", (long long)samples[sample]);
    printf("]}\n");
    return 0;
}
