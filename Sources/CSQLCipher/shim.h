#ifndef CSQLCIPHER_SHIM_H
#define CSQLCIPHER_SHIM_H

// The header that GRDB's own system module includes, so that both see the same declarations.
#include <sqlite3.h>

// Extended attributes, which Swift's Glibc module leaves out.
#include <sys/xattr.h>

#include <malloc.h>
#include <string.h>

// SQLCipher's <sqlite3.h> declares this under SQLITE_HAS_CODEC only, SQLite's not at all.
// <https://www.zetetic.net/sqlcipher/sqlcipher-api/#sqlite3_key>
extern int sqlite3_key(sqlite3 *db, const void *pKey, int nKey);

// Since SQLite 3.44, and so in SQLCipher's library from 4.6 on, but not in every system's header.
// <https://www.sqlite.org/c3ref/get_clientdata.html>
extern void *sqlite3_get_clientdata(sqlite3 *, const char *);
extern int sqlite3_set_clientdata(sqlite3 *, const char *, void *, void (*)(void *));

// `sqlite3_db_config` is variadic, and so out of Swift's sight.
// <https://www.sqlite.org/c3ref/c_dbconfig_defensive.html#sqlitedbconfignockptonclose>
static inline int csqlcipher_set_checkpoint_on_close(sqlite3 *db, int enabled) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !enabled, (int *)0);
}

// Variadic as well. SQL can't turn the journal off, write the schema table, the tables that virtual
// tables keep their content in, or a page; and no function loads a library.
// <https://www.sqlite.org/c3ref/c_dbconfig_defensive.html>
static inline int csqlcipher_protect(sqlite3 *db) {
    int code = sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    if (code != SQLITE_OK) return code;
    code = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, (int *)0);
    if (code != SQLITE_OK) return code;
    return sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, (int *)0);
}

// Variadic as well. A new database gets the file format from before SQLite 3.3.0, in which indexes
// ignore DESC. <https://www.sqlite.org/c3ref/c_dbconfig_defensive.html#sqlitedbconfiglegacyfileformat>
static inline int csqlcipher_use_old_format(sqlite3 *db) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_LEGACY_FILE_FORMAT, 1, (int *)0);
}

// Variadic as well. Without statistics, each of the many small pieces of memory that a schema is
// made of costs a lock less. What needs them does nothing then: sqlite3_memory_used() and the like,
// and the soft and the hard heap limit.
// <https://www.sqlite.org/c3ref/c_config_covering_index_scan.html#sqliteconfigmemstatus>
static inline int csqlcipher_turn_off_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// Variadic as well. Both before SQLite is used. <https://www.sqlite.org/c3ref/mem_methods.html>
static inline int csqlcipher_get_allocator(sqlite3_mem_methods *methods) {
    return sqlite3_config(SQLITE_CONFIG_GETMALLOC, methods);
}

static inline int csqlcipher_set_allocator(const sqlite3_mem_methods *methods) {
    return sqlite3_config(SQLITE_CONFIG_MALLOC, methods);
}

// `concat_ws` as in SQLite 3.46, for an engine in which it counts in 32 bits and overflows.
// <https://www.sqlite.org/lang_corefunc.html#concat_ws>
static inline void csqlcipher_concat_ws(sqlite3_context *context, int count, sqlite3_value **values) {
    const char *separator = count > 0 ? (const char *)sqlite3_value_text(values[0]) : 0;
    if (!separator) return;
    sqlite3_int64 length = sqlite3_value_bytes(values[0]), size = 0, end = 0;
    for (int i = 1; i < count; i++) size += length + sqlite3_value_bytes(values[i]);
    if (size > sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1)) {
        sqlite3_result_error_toobig(context);
        return;
    }
    char *text = (char *)sqlite3_malloc64((sqlite3_uint64)size + 1);
    if (!text) {
        sqlite3_result_error_nomem(context);
        return;
    }
    for (int i = 1; i < count; i++) {
        const char *part = (const char *)sqlite3_value_text(values[i]);
        sqlite3_int64 partLength = sqlite3_value_bytes(values[i]);
        if (!part || partLength == 0) continue;
        if (end > 0) {
            memcpy(text + end, separator, (size_t)length);
            end += length;
        }
        memcpy(text + end, part, (size_t)partLength);
        end += partLength;
    }
    sqlite3_result_text64(context, text, (sqlite3_uint64)end, sqlite3_free, SQLITE_UTF8);
}

static inline int csqlcipher_guard_connection(sqlite3 *db) {
    return sqlite3_create_function_v2(
        db, "concat_ws", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, 0,
        csqlcipher_concat_ws, 0, 0, 0);
}

// For the connections that are opened from now on. <https://www.sqlite.org/c3ref/auto_extension.html>
static inline int csqlcipher_guard_connections(void) {
    return sqlite3_auto_extension((void (*)(void))csqlcipher_guard_connection);
}

// So many that the 64 tables that a SELECT can join have fewer than 32,768, where an engine overflows
// that counts the columns of an aggregate in 16 bits. <https://www.sqlite.org/limits.html>
enum { CSQLCIPHER_MOST_COLUMNS = 511 };

static inline int csqlcipher_limit_columns(sqlite3 *db) {
    const char *file = sqlite3_db_filename(db, "main");
    if (!file || !file[0]) sqlite3_limit(db, SQLITE_LIMIT_COLUMN, CSQLCIPHER_MOST_COLUMNS);
    return SQLITE_OK;
}

// For the databases in memory that are opened from now on.
static inline int csqlcipher_limit_columns_in_memory(void) {
    return sqlite3_auto_extension((void (*)(void))csqlcipher_limit_columns);
}

// The checkpoint that a commit makes when the log has a thousand pages or more, under the write lock:
// without it, an engine may lose what others commit meanwhile. If another holds the lock, a later commit
// makes the checkpoint. <https://www.sqlite.org/walformat.html#wal_locks>
static inline int csqlcipher_checkpoint(void *unused, sqlite3 *db, const char *name, int pages) {
    enum { WRITE_LOCK = 0 };
    sqlite3_file *file = 0;
    (void)unused;
    if (pages < 1000 || sqlite3_file_control(db, name, SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK
        || !file || !file->pMethods || file->pMethods->iVersion < 2)
        return SQLITE_OK;
    int code = file->pMethods->xShmLock(file, WRITE_LOCK, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
    // With exclusive access, there is no shared memory to lock, and nobody else.
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHMLOCK) return SQLITE_OK;
    sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, 0, 0);
    if (code == SQLITE_OK)
        file->pMethods->xShmLock(file, WRITE_LOCK, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
    return SQLITE_OK;
}

static inline void csqlcipher_checkpoint_under_lock(sqlite3 *db) {
    sqlite3_wal_hook(db, csqlcipher_checkpoint, 0);
}

// Gives freed memory back to the system, such as that of a page cache, which the C library would keep.
// <https://man7.org/linux/man-pages/man3/malloc_trim.3.html>
static inline void csqlcipher_trim_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// Variadic as well. For tests only: moves the page with the lock bytes, for all files of this process.
// <https://www.sqlite.org/fileformat.html#the_lock_byte_page>
static inline void csqlcipher_set_lock_byte(unsigned int offset) {
    sqlite3_test_control(SQLITE_TESTCTRL_PENDING_BYTE, offset);
}

#endif
