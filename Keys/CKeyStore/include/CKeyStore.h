// What KeyStore needs of the system and Swift's Glibc module doesn't show, since glibc's headers
// have it only under _GNU_SOURCE, and the one thing that has to be C: a signal handler.

#ifndef MIGRATIONKIT_CKEYSTORE_H
#define MIGRATIONKIT_CKEYSTORE_H

#include <spawn.h>
#include <stddef.h>
#include <sys/types.h>

/// A pipe of which no other program inherits an end. Answers 0, or -1 and errno.
int ckeystore_pipe(int ends[2]);

/// Adds the closing of every descriptor from `first` on to a spawn's actions (glibc 2.34 or later).
int ckeystore_close_from(posix_spawn_file_actions_t *actions, int first);

/// The spawn flag that gives the child a session of its own.
short ckeystore_new_session(void);

/// The process's environment as it stands.
char **ckeystore_environment(void);

/// Keeps this process's memory out of core dumps, and its user's other processes away from it: a
/// limit of no bytes on dumps, a filter that leaves every mapping out of them (which debuggers keep
/// to as well), and the mark "not dumpable" (prctl(2)). Each of them is tried. Answers 0, or -1 if
/// the mark can't be set.
int ckeystore_forbid_dumps(void);

/// Continues in a child as well (fork(2)), which ends together with this process. For a process with one
/// thread. Answers 0 in the child; here the child's number, or -1 and errno.
pid_t ckeystore_fork(void);

/// Writes each of some signals to `descriptor`, as one byte, instead of acting on it; from the
/// call's return on, none is lost. What the process ignores stays ignored. Answers 0, or EBUSY if
/// signals are being caught already.
int ckeystore_catch_signals(int descriptor, const int *signals, size_t count);

// The same for the first signal that comes. From then on all of them do what they did before, so that
// a second one ends the process even if nobody reads from the pipe.
int ckeystore_catch_first_signal(int descriptor, const int *signals, size_t count);

/// Puts the signals' earlier dispositions back.
void ckeystore_release_signals(void);

#endif
