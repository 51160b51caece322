// What Swift's Glibc module leaves out because glibc's headers show it only under _GNU_SOURCE.

#ifndef MIGRATIONKIT_CSPAWN_SHIM_H
#define MIGRATIONKIT_CSPAWN_SHIM_H

#include <spawn.h>

/// A pipe whose flags, O_CLOEXEC above all, are set as it is made.
extern int pipe2(int ends[2], int flags);

/// In glibc since 2.34. Adds the closing of every descriptor from `from` on to the actions of a spawn.
extern int posix_spawn_file_actions_addclosefrom_np(
    posix_spawn_file_actions_t *actions, int from);

/// The flag that gives the child a session of its own, and so no controlling terminal.
static const short spawn_setsid_flag = 0x80;

#endif
