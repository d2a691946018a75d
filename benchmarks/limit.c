/* The limit a stdio server is measured against: reads lines, writes the bytes of one file as every answer.
 *
 *     limit ANSWER_FILE [--wait COMMAND | --leave COMMAND]
 *
 * Does what cannot be left out: one read, a search for newlines, one write. Parses no JSON: a line is a request when
 * `"id":` stands where the measuring client always puts it, and the seven digits behind it are copied to the same
 * place of the answer. Ends at the end of input.
 *
 * With a command: `bash -c COMMAND` is started for every request, its output goes to a file, and the answer is written
 * once it has ended (`--wait`) or at once (`--leave`): what a tool that runs commands cannot leave out.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { READ_BYTES = 64 * 1024, ID_OFFSET = 22, ID_DIGITS = 7, HEAD_BYTES = ID_OFFSET + ID_DIGITS };

static char answer[32 * 1024 * 1024];
static size_t answer_bytes;

static void write_all(const char *data, size_t length) {
    while (length > 0) {
        ssize_t written = write(1, data, length);
        if (written <= 0)
            exit(0); /* the client has gone */
        data += written;
        length -= (size_t)written;
    }
}

static void load(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    answer_bytes = fread(answer, 1, sizeof answer, file);
    fclose(file);
    if (answer_bytes < HEAD_BYTES || answer_bytes == sizeof answer || answer[answer_bytes - 1] != '\n' ||
        memcmp(answer + ID_OFFSET - 5, "\"id\":", 5) != 0) {
        fprintf(stderr, "%s is not one answer line with its id at byte %d\n", path, ID_OFFSET);
        exit(2);
    }
}

static void fail(const char *what) {
    perror(what);
    exit(2);
}

/* The output file is as long as the command makes it, and its last 64 KB are read: an answer shows them. */
static void run(char *command, int wait) {
    static char tail[READ_BYTES];
    char *words[] = {"bash", "-c", command, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int output = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (output < 0)
        fail("output file");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    if (posix_spawnp(&pid, "bash", &actions, NULL, words, environ) != 0)
        fail("bash");
    posix_spawn_file_actions_destroy(&actions);
    if (wait) {
        waitpid(pid, NULL, 0);
        off_t length = lseek(output, 0, SEEK_END);
        if (pread(output, tail, sizeof tail, length > READ_BYTES ? length - READ_BYTES : 0) < 0)
            fail("output file");
    }
    close(output);
}

int main(int count, char **arguments) {
    int wait = count == 4 && strcmp(arguments[2], "--wait") == 0;
    if (count != 2 && !wait && (count != 4 || strcmp(arguments[2], "--leave") != 0)) {
        fprintf(stderr, "usage: limit ANSWER_FILE [--wait COMMAND | --leave COMMAND]\n");
        return 2;
    }
    char *command = count == 4 ? arguments[3] : NULL;
    if (command != NULL && !wait)
        signal(SIGCHLD, SIG_IGN); /* nobody waits for them */
    load(arguments[1]);
    static char input[READ_BYTES];
    char head[HEAD_BYTES]; /* the first bytes of a line, which may have come in several reads */
    size_t head_bytes = 0;
    size_t room = answer_bytes > READ_BYTES ? answer_bytes : READ_BYTES;
    char *output = malloc(room);
    if (output == NULL)
        return 1;
    for (;;) {
        ssize_t got = read(0, input, sizeof input);
        if (got <= 0)
            return 0;
        size_t output_bytes = 0;
        const char *from = input, *end = input + got;
        while (from < end) {
            const char *newline = memchr(from, '\n', (size_t)(end - from));
            size_t length = (size_t)((newline ? newline : end) - from);
            if (head_bytes < HEAD_BYTES) {
                size_t take = length < HEAD_BYTES - head_bytes ? length : HEAD_BYTES - head_bytes;
                memcpy(head + head_bytes, from, take);
                head_bytes += take;
            }
            if (newline == NULL)
                break;
            if (head_bytes == HEAD_BYTES && memcmp(head + ID_OFFSET - 5, "\"id\":", 5) == 0) {
                if (command != NULL && memmem(from, length, "tools/call", 10) != NULL)
                    run(command, wait);
                if (output_bytes + answer_bytes > room) {
                    write_all(output, output_bytes);
                    output_bytes = 0;
                }
                memcpy(output + output_bytes, answer, answer_bytes);
                memcpy(output + output_bytes + ID_OFFSET, head + ID_OFFSET, ID_DIGITS);
                output_bytes += answer_bytes;
            }
            head_bytes = 0;
            from = newline + 1;
        }
        write_all(output, output_bytes);
    }
}
