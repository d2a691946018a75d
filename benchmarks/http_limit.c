/* The limit an HTTP server is measured against: one epoll loop that reads requests and writes the bytes of one file.
 *
 *     http_limit ANSWER_FILE
 *
 * Does what cannot be left out: one wait, one read, a search for the end of the head and for Content-Length, one
 * write. Parses no JSON: the seven digits behind `"id":` at the request's usual place are copied to the same place of
 * the answer. Prints the port it listens on, on loopback; ends with its standard input.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ID_OFFSET = 22, ID_DIGITS = 7, INPUT_BYTES = 64 * 1024, DESCRIPTORS_MAX = 4096 };

struct input {
    char data[INPUT_BYTES];
    size_t filled;
};

static struct input *inputs[DESCRIPTORS_MAX];
static char *response;
static size_t response_bytes, id_at;

static void load(const char *path) {
    FILE *file = fopen(path, "rb");
    static char answer[1 << 20];
    size_t bytes = file == NULL ? 0 : fread(answer, 1, sizeof answer, file);
    if (bytes < ID_OFFSET + ID_DIGITS || memcmp(answer + ID_OFFSET - 5, "\"id\":", 5) != 0) {
        fprintf(stderr, "%s is not one answer with its id at byte %d\n", path, ID_OFFSET);
        exit(2);
    }
    fclose(file);
    response = malloc(bytes + 256);
    if (response == NULL)
        exit(2);
    int head = sprintf(response, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n", bytes);
    memcpy(response + head, answer, bytes);
    response_bytes = (size_t)head + bytes;
    id_at = (size_t)head + ID_OFFSET;
}

/* 0 while the request is not whole. */
static size_t whole_request(const struct input *input, const char **body) {
    const char *end = memmem(input->data, input->filled, "\r\n\r\n", 4);
    if (end == NULL)
        return 0;
    *body = end + 4;
    const char *length = memmem(input->data, (size_t)(end - input->data), "Content-Length:", 15);
    size_t bytes = (size_t)(*body - input->data) + (length == NULL ? 0 : strtoul(length + 15, NULL, 10));
    return input->filled < bytes ? 0 : bytes;
}

static void serve(int client, int poll) {
    struct input *input = inputs[client];
    ssize_t got = recv(client, input->data + input->filled, INPUT_BYTES - input->filled, 0);
    if (got <= 0) {
        epoll_ctl(poll, EPOLL_CTL_DEL, client, NULL);
        close(client);
        return;
    }
    input->filled += (size_t)got;
    const char *body;
    size_t bytes;
    while ((bytes = whole_request(input, &body)) > 0) {
        memcpy(response + id_at, body + ID_OFFSET, ID_DIGITS);
        for (size_t sent = 0; sent < response_bytes;) {
            ssize_t more = send(client, response + sent, response_bytes - sent, MSG_NOSIGNAL);
            if (more < 0)
                break;
            sent += (size_t)more;
        }
        input->filled -= bytes;
        memmove(input->data, input->data + bytes, input->filled);
    }
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: http_limit ANSWER_FILE\n");
        return 2;
    }
    load(arguments[1]);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t address_bytes = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1024) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &address_bytes) != 0) {
        perror("http_limit");
        return 1;
    }
    int poll = epoll_create1(0);
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.fd = listener});
    epoll_ctl(poll, EPOLL_CTL_ADD, 0, &(struct epoll_event){.events = EPOLLIN, .data.fd = 0});
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    struct epoll_event events[256];
    for (;;) {
        int ready = epoll_wait(poll, events, 256, -1);
        for (int index = 0; index < ready; index++) {
            int ours = events[index].data.fd;
            if (ours == 0)
                return 0;
            if (ours != listener) {
                serve(ours, poll);
                continue;
            }
            int client = accept(listener, NULL, NULL);
            if (client < 0 || client >= DESCRIPTORS_MAX)
                continue;
            setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
            if (inputs[client] == NULL && (inputs[client] = malloc(sizeof(struct input))) == NULL)
                return 1;
            inputs[client]->filled = 0;
            epoll_ctl(poll, EPOLL_CTL_ADD, client, &(struct epoll_event){.events = EPOLLIN, .data.fd = client});
        }
    }
}
