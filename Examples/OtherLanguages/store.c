// Migrates a store with a key that the program has: cc -o store store.c
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Returns the tool's exit code, and gives its report: JSON, on success and after an error. What is too
// long for the report is left out. A key has at most 4096 bytes.
static int migrate(const char *store, const char *folder, const char *key, size_t length, char *report, size_t size) {
    int keys[2], reports[2];
    if (pipe2(keys, O_CLOEXEC) || pipe2(reports, O_CLOEXEC)) return 71;
    // A pipe takes the key without a reader. Written later, it would end this program by SIGPIPE if the
    // tool is missing.
    int is_written = write(keys[1], key, length) == (ssize_t)length;
    close(keys[1]);  // The key ends here.
    pid_t tool = is_written ? fork() : -1;
    if (tool == 0) {
        dup2(keys[0], 0), dup2(reports[1], 1), dup2(reports[1], 2);
        execlp("migrationkit-cli", "migrationkit-cli", "migrate", "--db-path", store, "--migrations", folder,
               "--password-file", "-", "--json", (char *)NULL);
        _exit(127);
    }
    close(keys[0]), close(reports[1]);
    char rest[4096];
    size_t count = 0;
    for (ssize_t more = 1; more > 0 || (more < 0 && errno == EINTR);) {
        int is_full = count + 1 >= size;
        more = read(reports[0], is_full ? rest : report + count, is_full ? sizeof rest : size - 1 - count);
        if (more > 0 && !is_full) count += (size_t)more;
    }
    report[count] = '\0';
    close(reports[0]);
    int status = 0;
    if (tool < 0) return 71;
    while (waitpid(tool, &status, 0) != tool)
        if (errno != EINTR) return 71;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **words) {
    static char key[4097], report[65536];
    size_t length = fread(key, 1, sizeof key, stdin);
    if (count != 3 || length == 0 || length == sizeof key) return 64;
    int code = migrate(words[1], words[2], key, length, report, sizeof report);
    explicit_bzero(key, sizeof key);
    printf("%d %s", code, report);
    return code;
}
