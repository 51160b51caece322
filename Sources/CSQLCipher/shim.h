#ifndef CSQLCIPHER_SHIM_H
#define CSQLCIPHER_SHIM_H

#include <openssl/evp.h>
#include <openssl/hmac.h>

// The header that GRDB's own system module includes, so that both see the same declarations.
#include <sqlite3.h>

// SQLCipher's <sqlite3.h> declares this under SQLITE_HAS_CODEC only, SQLite's not at all.
// <https://www.zetetic.net/sqlcipher/sqlcipher-api/#sqlite3_key>
extern int sqlite3_key(sqlite3 *db, const void *pKey, int nKey);

// `sqlite3_db_config` is variadic, and so out of Swift's sight.
// <https://www.sqlite.org/c3ref/c_dbconfig_defensive.html#sqlitedbconfignockptonclose>
static inline int csqlcipher_set_checkpoint_on_close(sqlite3 *db, int enabled) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !enabled, (int *)0);
}

#endif
