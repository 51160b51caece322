// A library for LD_PRELOAD: it notes the calls that concern a folder, and lets one of them fail.
//
// FAILING_ROOT   the folder, as the kernel names it
// FAILING_LOG    where each call is noted: kind, name in the folder, result, further words
// FAILING_CALL   "KIND NAME ORDINAL": the call that fails; without it none does
// FAILING_ERROR  the errno; 0: half of the bytes are read or written
// FAILING_STAYS  if set, all later calls of the kind fail as well, whatever their file; after half of
//                a write for want of room
//
// strace could do it, were it not for short writes and for the time that it takes.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utime.h>

#define REAL(name) ({                                              \
    static __typeof__(name) *real;                                 \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
    real; })

enum { NAME_SIZE = PATH_MAX + 64, SHORT = -1 };

static char root[PATH_MAX], logPath[PATH_MAX];
static char wantedKind[32], wantedName[PATH_MAX];
static long wantedOrdinal, seen;
static int failure, isFailing, stays;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void prepare(void) {
    const char *folder = getenv("FAILING_ROOT"), *log = getenv("FAILING_LOG");
    if (!folder || !log) return;
    const char *call = getenv("FAILING_CALL"), *error = getenv("FAILING_ERROR");
    // Names may hold spaces; the ordinal is behind the last one.
    if (call) {
        const char *first = strchr(call, ' '), *last = strrchr(call, ' ');
        snprintf(wantedKind, sizeof wantedKind, "%.*s", (int)(first - call), call);
        snprintf(wantedName, sizeof wantedName, "%.*s", (int)(last - first - 1), first + 1);
        wantedOrdinal = atol(last + 1);
    }
    failure = error ? atoi(error) : EIO;
    if (failure == 0) failure = SHORT;
    stays = getenv("FAILING_STAYS") != NULL;
    snprintf(logPath, sizeof logPath, "%s", log);
    snprintf(root, sizeof root, "%s", folder);
    unsetenv("LD_PRELOAD");
}

// MARK: - Names

// Random digits of drafts become "*", and the number of a file without a name, too: the next run has
// others.
static void normalize(char *name) {
    if (name[0] == '#') {
        strcpy(name, "#*");
        return;
    }
    static const char *const infixes[] = {"-converting-", "-writing-"};
    for (size_t index = 0; index < 2; index++) {
        // A draft has its folder's name.
        char *found = name;
        while ((found = strstr(found, infixes[index]))) {
            char *digits = found + strlen(infixes[index]);
            found = digits;
            size_t count = strspn(digits, "0123456789abcdefABCDEF");
            if (count == 0) continue;
            *digits = '*';
            memmove(digits + 1, digits + count, strlen(digits + count) + 1);
        }
    }
}

// The name in the folder; NULL for what is elsewhere.
static const char *inRoot(const char *path, char *name) {
    size_t length = strlen(root);
    if (length == 0 || strncmp(path, root, length) != 0) return NULL;
    if (path[length] == 0 || strcmp(path + length, "/") == 0) return strcpy(name, ".");
    if (path[length] != '/') return NULL;
    snprintf(name, NAME_SIZE, "%s", path + length + 1);
    // What was removed, and is open still.
    char *deleted = strstr(name, " (deleted)");
    if (deleted) *deleted = 0;
    normalize(name);
    return name;
}

static const char *ofDescriptor(int descriptor, char *name) {
    if (root[0] == 0 || descriptor < 0) return NULL;
    int before = errno;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    long count = syscall(SYS_readlink, link, path, sizeof path - 1);
    errno = before;
    if (count <= 0) return NULL;
    path[count] = 0;
    return inRoot(path, name);
}

static const char *ofPath(int folder, const char *path, char *name) {
    if (root[0] == 0 || !path) return NULL;
    // Through the descriptor of a folder.
    static const char descriptors[] = "/proc/self/fd/";
    if (strncmp(path, descriptors, sizeof descriptors - 1) == 0) {
        char *rest;
        folder = (int)strtol(path + sizeof descriptors - 1, &rest, 10);
        path = *rest == '/' ? rest + 1 : rest;
    }
    if (path[0] == '/') return inRoot(path, name);
    int before = errno;
    char link[64], whole[PATH_MAX];
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    long count = syscall(SYS_readlink, link, whole, sizeof whole - 1);
    errno = before;
    if (count <= 0) return NULL;
    snprintf(whole + count, sizeof whole - count, path[0] ? "/%s" : "%s", path);
    return inRoot(whole, name);
}

// MARK: - Failing

// 0, the errno, or SHORT.
static int verdict(const char *kind, const char *name) {
    if (!name || wantedKind[0] == 0 || strcmp(kind, wantedKind) != 0) return 0;
    int result = 0;
    pthread_mutex_lock(&lock);
    if (isFailing && stays) {
        result = failure == SHORT ? ENOSPC : failure;
    } else if (strcmp(name, wantedName) == 0 && ++seen == wantedOrdinal) {
        isFailing = 1;
        result = failure;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static void note(const char *kind, const char *name, int verdict, int isError, const char *more) {
    if (!name) return;
    int before = errno;
    char line[2 * NAME_SIZE];
    int count = snprintf(line, sizeof line, "%s\t%s\t%s\t%s\n", kind, name,
                         verdict ? "failing" : isError ? "error" : "done", more);
    int log = syscall(SYS_openat, AT_FDCWD, logPath, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log >= 0) {
        syscall(SYS_write, log, line, (size_t)count);
        syscall(SYS_close, log);
    }
    errno = before;
}

// The body of a function that stands for a call: `real` gives its result, of a negative value if it
// failed, and `failed` is what is answered instead.
#define CALL(kind, nameOf, failed, real, more) do {                 \
        char buffer[NAME_SIZE];                                     \
        const char *name = (nameOf);                                \
        int code = verdict(kind, name);                             \
        if (code > 0) {                                             \
            note(kind, name, code, 1, more);                        \
            errno = code;                                           \
            return failed;                                          \
        }                                                           \
        __auto_type result = (real);                                \
        note(kind, name, 0, (long)result == (long)(failed), more);  \
        return result;                                              \
    } while (0)

#define PATH(path) ofPath(AT_FDCWD, path, buffer)
#define AT(folder, path) ofPath(folder, path, buffer)
#define FILE_OF(descriptor) ofDescriptor(descriptor, buffer)

// MARK: - Opening

static const char *flagWords(int flags) {
    return flags & O_CREAT ? "creates" : flags & O_DIRECTORY ? "folder" : "";
}

#define MODE va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest)

int open(const char *path, int flags, ...) {
    MODE;
    CALL("open", PATH(path), -1, REAL(open)(path, flags, mode), flagWords(flags));
}
int open64(const char *path, int flags, ...) {
    MODE;
    CALL("open", PATH(path), -1, REAL(open64)(path, flags, mode), flagWords(flags));
}
int openat(int folder, const char *path, int flags, ...) {
    MODE;
    CALL("open", AT(folder, path), -1, REAL(openat)(folder, path, flags, mode), flagWords(flags));
}
int openat64(int folder, const char *path, int flags, ...) {
    MODE;
    CALL("open", AT(folder, path), -1, REAL(openat64)(folder, path, flags, mode), flagWords(flags));
}
FILE *fopen(const char *path, const char *mode) {
    CALL("open", PATH(path), NULL, REAL(fopen)(path, mode), "");
}
FILE *fopen64(const char *path, const char *mode) {
    CALL("open", PATH(path), NULL, REAL(fopen64)(path, mode), "");
}
DIR *opendir(const char *path) { CALL("open", PATH(path), NULL, REAL(opendir)(path), "folder"); }
int close(int descriptor) {
    char buffer[NAME_SIZE];
    const char *name = FILE_OF(descriptor);
    int code = verdict("close", name);
    int result = REAL(close)(descriptor);
    note("close", name, code, result != 0, "");
    // A descriptor is closed even if the call fails.
    if (code <= 0) return result;
    errno = code;
    return -1;
}

// MARK: - Content

#define PART(kind, descriptor, type, real, half) do {                            \
        char buffer[NAME_SIZE];                                                  \
        const char *name = FILE_OF(descriptor);                                  \
        int code = verdict(kind, name);                                          \
        if (code > 0) {                                                          \
            note(kind, name, code, 1, "");                                       \
            errno = code;                                                        \
            return -1;                                                           \
        }                                                                        \
        type result = code == SHORT ? (half) : (real);                           \
        note(kind, name, code, result < 0, "");                                  \
        return result;                                                           \
    } while (0)

#define HALF (size > 1 ? size / 2 : size)

ssize_t read(int file, void *bytes, size_t size) {
    PART("read", file, ssize_t, REAL(read)(file, bytes, size), REAL(read)(file, bytes, HALF));
}
ssize_t pread(int file, void *bytes, size_t size, off_t at) {
    PART("read", file, ssize_t, REAL(pread)(file, bytes, size, at),
         REAL(pread)(file, bytes, HALF, at));
}
ssize_t pread64(int file, void *bytes, size_t size, off64_t at) {
    PART("read", file, ssize_t, REAL(pread64)(file, bytes, size, at),
         REAL(pread64)(file, bytes, HALF, at));
}
ssize_t write(int file, const void *bytes, size_t size) {
    PART("write", file, ssize_t, REAL(write)(file, bytes, size), REAL(write)(file, bytes, HALF));
}
ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
    PART("write", file, ssize_t, REAL(pwrite)(file, bytes, size, at),
         REAL(pwrite)(file, bytes, HALF, at));
}
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) {
    PART("write", file, ssize_t, REAL(pwrite64)(file, bytes, size, at),
         REAL(pwrite64)(file, bytes, HALF, at));
}
ssize_t readv(int file, const struct iovec *parts, int count) {
    CALL("read", FILE_OF(file), -1, REAL(readv)(file, parts, count), "");
}
ssize_t writev(int file, const struct iovec *parts, int count) {
    CALL("write", FILE_OF(file), -1, REAL(writev)(file, parts, count), "");
}
ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *place, size_t size, unsigned flags) {
    CALL("write", FILE_OF(to), -1, REAL(copy_file_range)(from, at, to, place, size, flags), "");
}
struct dirent *readdir(DIR *folder) {
    // The end of a folder looks like an error.
    int before = errno;
    errno = 0;
    char buffer[NAME_SIZE];
    const char *name = FILE_OF(dirfd(folder));
    int code = verdict("read", name);
    struct dirent *entry = code > 0 ? NULL : REAL(readdir)(folder);
    note("read", name, code > 0 ? code : 0, 0, "folder");
    errno = code > 0 ? code : errno ? errno : before;
    return entry;
}

int ftruncate(int file, off_t size) { CALL("size", FILE_OF(file), -1, REAL(ftruncate)(file, size), ""); }
int ftruncate64(int file, off64_t size) {
    CALL("size", FILE_OF(file), -1, REAL(ftruncate64)(file, size), "");
}
int truncate(const char *path, off_t size) {
    CALL("size", PATH(path), -1, REAL(truncate)(path, size), "");
}
int fallocate(int file, int mode, off_t at, off_t size) {
    CALL("size", FILE_OF(file), -1, REAL(fallocate)(file, mode, at, size), "");
}
int fsync(int file) { CALL("sync", FILE_OF(file), -1, REAL(fsync)(file), ""); }
int fdatasync(int file) { CALL("sync", FILE_OF(file), -1, REAL(fdatasync)(file), ""); }
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    CALL("map", FILE_OF(file), MAP_FAILED, REAL(mmap)(at, size, protection, flags, file, offset), "");
}
void *mmap64(void *at, size_t size, int protection, int flags, int file, off64_t offset) {
    CALL("map", FILE_OF(file), MAP_FAILED, REAL(mmap64)(at, size, protection, flags, file, offset), "");
}

// MARK: - Locks

#define CONTROL(real) do {                                                            \
        va_list rest;                                                                 \
        va_start(rest, command);                                                      \
        void *argument = va_arg(rest, void *);                                        \
        va_end(rest);                                                                 \
        switch (command) {                                                            \
        case F_GETLK: case F_SETLK: case F_SETLKW:                                    \
        case F_OFD_GETLK: case F_OFD_SETLK: case F_OFD_SETLKW: {                      \
            int isUnlock = ((struct flock *)argument)->l_type == F_UNLCK;             \
            CALL(isUnlock ? "unlock" : "lock", FILE_OF(file), -1,                     \
                 REAL(real)(file, command, argument), "");                            \
        }                                                                             \
        default: return REAL(real)(file, command, argument);                          \
        }                                                                             \
    } while (0)

int fcntl(int file, int command, ...) { CONTROL(fcntl); }
int fcntl64(int file, int command, ...) { CONTROL(fcntl64); }
int flock(int file, int operation) {
    CALL(operation & LOCK_UN ? "unlock" : "lock", FILE_OF(file), -1, REAL(flock)(file, operation), "");
}

// MARK: - What there is

int stat(const char *path, struct stat *status) {
    CALL("stat", PATH(path), -1, REAL(stat)(path, status), "");
}
int stat64(const char *path, struct stat64 *status) {
    CALL("stat", PATH(path), -1, REAL(stat64)(path, status), "");
}
int lstat(const char *path, struct stat *status) {
    CALL("stat", PATH(path), -1, REAL(lstat)(path, status), "");
}
int lstat64(const char *path, struct stat64 *status) {
    CALL("stat", PATH(path), -1, REAL(lstat64)(path, status), "");
}
int fstat(int file, struct stat *status) { CALL("stat", FILE_OF(file), -1, REAL(fstat)(file, status), ""); }
int fstat64(int file, struct stat64 *status) {
    CALL("stat", FILE_OF(file), -1, REAL(fstat64)(file, status), "");
}
int fstatat(int folder, const char *path, struct stat *status, int flags) {
    CALL("stat", AT(folder, path), -1, REAL(fstatat)(folder, path, status, flags), "");
}
int statx(int folder, const char *path, int flags, unsigned mask, struct statx *status) {
    CALL("stat", AT(folder, path), -1, REAL(statx)(folder, path, flags, mask, status), "");
}
int access(const char *path, int mode) { CALL("stat", PATH(path), -1, REAL(access)(path, mode), ""); }
int faccessat(int folder, const char *path, int mode, int flags) {
    CALL("stat", AT(folder, path), -1, REAL(faccessat)(folder, path, mode, flags), "");
}
ssize_t readlink(const char *path, char *target, size_t size) {
    CALL("stat", PATH(path), -1, REAL(readlink)(path, target, size), "");
}
char *realpath(const char *path, char *target) {
    CALL("stat", PATH(path), NULL, REAL(realpath)(path, target), "");
}
int statvfs(const char *path, struct statvfs *status) {
    CALL("stat", PATH(path), -1, REAL(statvfs)(path, status), "");
}

// MARK: - Names

// Of two names, the one in the folder; the further word is the new one.
#define RENAME(folder, path, otherFolder, otherPath, kind, real) do {                   \
        char targetName[NAME_SIZE];                                                     \
        const char *target = ofPath(otherFolder, otherPath, targetName);                \
        CALL(kind, ofPath(folder, path, buffer) ?: target, -1, real, target ?: "");     \
    } while (0)

int rename(const char *from, const char *to) {
    RENAME(AT_FDCWD, from, AT_FDCWD, to, "rename", REAL(rename)(from, to));
}
int renameat(int folder, const char *from, int other, const char *to) {
    RENAME(folder, from, other, to, "rename", REAL(renameat)(folder, from, other, to));
}
int renameat2(int folder, const char *from, int other, const char *to, unsigned flags) {
    RENAME(folder, from, other, to, "rename", REAL(renameat2)(folder, from, other, to, flags));
}
int link(const char *from, const char *to) {
    RENAME(AT_FDCWD, from, AT_FDCWD, to, "link", REAL(link)(from, to));
}
int linkat(int folder, const char *from, int other, const char *to, int flags) {
    RENAME(folder, from, other, to, "link", REAL(linkat)(folder, from, other, to, flags));
}
int unlink(const char *path) { CALL("unlink", PATH(path), -1, REAL(unlink)(path), ""); }
int unlinkat(int folder, const char *path, int flags) {
    CALL("unlink", AT(folder, path), -1, REAL(unlinkat)(folder, path, flags), "");
}
int rmdir(const char *path) { CALL("unlink", PATH(path), -1, REAL(rmdir)(path), ""); }
int mkdir(const char *path, mode_t mode) { CALL("mkdir", PATH(path), -1, REAL(mkdir)(path, mode), ""); }
int chmod(const char *path, mode_t mode) { CALL("attribute", PATH(path), -1, REAL(chmod)(path, mode), ""); }
int fchmod(int file, mode_t mode) { CALL("attribute", FILE_OF(file), -1, REAL(fchmod)(file, mode), ""); }
int chown(const char *path, uid_t user, gid_t group) {
    CALL("attribute", PATH(path), -1, REAL(chown)(path, user, group), "");
}
int fchown(int file, uid_t user, gid_t group) {
    CALL("attribute", FILE_OF(file), -1, REAL(fchown)(file, user, group), "");
}
int utime(const char *path, const struct utimbuf *times) {
    CALL("attribute", PATH(path), -1, REAL(utime)(path, times), "");
}
int utimes(const char *path, const struct timeval times[2]) {
    CALL("attribute", PATH(path), -1, REAL(utimes)(path, times), "");
}
