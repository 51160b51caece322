#define _GNU_SOURCE

#include "CKeyStore.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

int ckeystore_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

int ckeystore_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

short ckeystore_new_session(void) {
    return POSIX_SPAWN_SETSID;
}

char **ckeystore_environment(void) {
    return environ;
}

int ckeystore_forbid_dumps(void) {
    struct rlimit nothing = {0, 0};
    setrlimit(RLIMIT_CORE, &nothing);
    // Before the mark, which makes the files in /proc/self root's.
    int filter = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
    if (filter >= 0) {
        if (write(filter, "0", 1) < 0) {
            // An old kernel, or one without dumps.
        }
        close(filter);
    }
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

pid_t ckeystore_fork(void) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        // It may have ended before that.
        if (getppid() != parent) {
            _exit(1);
        }
    }
    return child;
}

static struct sigaction earlier[NSIG];
static sigset_t caught;
static atomic_int destination = -1;
static atomic_int only_first;

static void put_back(void) {
    for (int number = 1; number < NSIG; number++) {
        if (sigismember(&caught, number) == 1) {
            sigaction(number, &earlier[number], NULL);
        }
    }
}

static void note(int signal) {
    int code = errno;
    // Here, and not where the signal is read from the pipe: that thread may never come to it.
    if (atomic_load(&only_first)) {
        put_back();
    }
    unsigned char byte = (unsigned char)signal;
    int descriptor = atomic_load(&destination);
    if (descriptor >= 0 && write(descriptor, &byte, 1) < 0) {
        // A full pipe holds a signal already, which is enough.
    }
    errno = code;
}

static int catch_signals(int descriptor, const int *signals, size_t count, int is_once) {
    int nobody = -1;
    if (!atomic_compare_exchange_strong(&destination, &nobody, descriptor)) {
        return EBUSY;
    }
    atomic_store(&only_first, is_once);
    struct sigaction action = {0};
    action.sa_handler = note;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    sigemptyset(&caught);
    for (size_t index = 0; index < count; index++) {
        int number = signals[index];
        sigaction(number, NULL, &earlier[number]);
        if (earlier[number].sa_handler != SIG_IGN) {
            sigaddset(&caught, number);
        }
    }
    // What a handler puts back has to be whole before the first one can run.
    for (size_t index = 0; index < count; index++) {
        if (sigismember(&caught, signals[index]) == 1) {
            sigaction(signals[index], &action, NULL);
        }
    }
    return 0;
}

int ckeystore_catch_signals(int descriptor, const int *signals, size_t count) {
    return catch_signals(descriptor, signals, count, 0);
}

int ckeystore_catch_first_signal(int descriptor, const int *signals, size_t count) {
    return catch_signals(descriptor, signals, count, 1);
}

void ckeystore_release_signals(void) {
    put_back();
    atomic_store(&destination, -1);
}
