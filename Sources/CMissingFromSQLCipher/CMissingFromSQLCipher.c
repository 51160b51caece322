// GRDB's module links the system's libsqlite3 beside SQLCipher's archive. A function that only
// libsqlite3 has would bind to it silently and do nothing: a session on an encrypted connection
// reports no changes and no error. So these are defined here: the linker warns about each use, and a
// call ends the process.
//
// They are weak: an SQLCipher that is built with the session extension brings its own.
// <https://www.sqlite.org/sessionintro.html>

#include "CMissingFromSQLCipher.h"

#include <stdio.h>
#include <stdlib.h>

#define MISSING(name)                                                                             \
    static const char warning_of_##name[]                                                         \
        __attribute__((used, section(".gnu.warning." #name))) =                                   \
            #name " may be missing from SQLCipher's library; a call then ends the process";       \
    void name(void);                                                                              \
    __attribute__((weak)) void name(void) {                                                       \
        fputs("fatal error: " #name " is not in SQLCipher's library, which is built without "     \
              "SQLite's session extension\n", stderr);                                            \
        abort();                                                                                  \
    }

MISSING(sqlite3_preupdate_blobwrite)
MISSING(sqlite3_preupdate_count)
MISSING(sqlite3_preupdate_depth)
MISSING(sqlite3_preupdate_hook)
MISSING(sqlite3_preupdate_new)
MISSING(sqlite3_preupdate_old)
MISSING(sqlite3changegroup_add)
MISSING(sqlite3changegroup_add_change)
MISSING(sqlite3changegroup_add_strm)
MISSING(sqlite3changegroup_delete)
MISSING(sqlite3changegroup_new)
MISSING(sqlite3changegroup_output)
MISSING(sqlite3changegroup_output_strm)
MISSING(sqlite3changegroup_schema)
MISSING(sqlite3changeset_apply)
MISSING(sqlite3changeset_apply_strm)
MISSING(sqlite3changeset_apply_v2)
MISSING(sqlite3changeset_apply_v2_strm)
MISSING(sqlite3changeset_concat)
MISSING(sqlite3changeset_concat_strm)
MISSING(sqlite3changeset_conflict)
MISSING(sqlite3changeset_finalize)
MISSING(sqlite3changeset_fk_conflicts)
MISSING(sqlite3changeset_invert)
MISSING(sqlite3changeset_invert_strm)
MISSING(sqlite3changeset_new)
MISSING(sqlite3changeset_next)
MISSING(sqlite3changeset_old)
MISSING(sqlite3changeset_op)
MISSING(sqlite3changeset_pk)
MISSING(sqlite3changeset_start)
MISSING(sqlite3changeset_start_strm)
MISSING(sqlite3changeset_start_v2)
MISSING(sqlite3changeset_start_v2_strm)
MISSING(sqlite3rebaser_configure)
MISSING(sqlite3rebaser_create)
MISSING(sqlite3rebaser_delete)
MISSING(sqlite3rebaser_rebase)
MISSING(sqlite3rebaser_rebase_strm)
MISSING(sqlite3session_attach)
MISSING(sqlite3session_changeset)
MISSING(sqlite3session_changeset_size)
MISSING(sqlite3session_changeset_strm)
MISSING(sqlite3session_config)
MISSING(sqlite3session_create)
MISSING(sqlite3session_delete)
MISSING(sqlite3session_diff)
MISSING(sqlite3session_enable)
MISSING(sqlite3session_indirect)
MISSING(sqlite3session_isempty)
MISSING(sqlite3session_memory_used)
MISSING(sqlite3session_object_config)
MISSING(sqlite3session_patchset)
MISSING(sqlite3session_patchset_strm)
MISSING(sqlite3session_table_filter)

// An SQLCipher that was compiled with glibc 2.38 or later, linked on a system with an earlier one. From
// 2.38 on, strtol() may read binary digits, too, under this name.
// <https://sourceware.org/glibc/wiki/Release/2.38>
#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 38)
long __isoc23_strtol(const char *text, char **end, int base);
__attribute__((weak)) long __isoc23_strtol(const char *text, char **end, int base) {
    return strtol(text, end, base);
}
#endif
