// Migrates a store with a key that the program has: cc -o store store.c
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Returns the tool's exit code, and gives its report: JSON, on success and after an error.
static int migrate(const char *store, const char *folder, const char *key, char *report, size_t size) {
    int keys[2], reports[2];
    if (pipe(keys) || pipe(reports)) return 71;
    pid_t tool = fork();
    if (tool == 0) {
        dup2(keys[0], 0), dup2(reports[1], 1), dup2(reports[1], 2);
        close(keys[0]), close(keys[1]), close(reports[0]), close(reports[1]);
        execlp("migrationkit-cli", "migrationkit-cli", "migrate", "--db-path", store, "--migrations", folder,
               "--password-file", "-", "--json", (char *)NULL);
        _exit(127);
    }
    close(keys[0]), close(reports[1]);
    size_t length = strlen(key);
    int is_written = tool > 0 && write(keys[1], key, length) == (ssize_t)length;
    close(keys[1]);  // The key ends here.
    size_t count = 0;
    for (ssize_t more; count + 1 < size && (more = read(reports[0], report + count, size - 1 - count)) > 0;)
        count += (size_t)more;
    report[count] = '\0';
    close(reports[0]);
    int status = 0;
    if (tool < 0 || waitpid(tool, &status, 0) != tool || !is_written) return 71;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **words) {
    char key[512] = "", report[65536];
    if (count != 3 || !fgets(key, sizeof key, stdin)) return 64;
    int code = migrate(words[1], words[2], key, report, sizeof report);
    explicit_bzero(key, sizeof key);
    printf("%d %s", code, report);
    return code;
}
