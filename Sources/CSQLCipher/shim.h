#ifndef CSQLCIPHER_SHIM_H
#define CSQLCIPHER_SHIM_H

#include <openssl/evp.h>

// The header that GRDB's own system module includes, so that both see the same declarations.
#include <sqlite3.h>

// SQLCipher's <sqlite3.h> declares this under SQLITE_HAS_CODEC only, SQLite's not at all.
// <https://www.zetetic.net/sqlcipher/sqlcipher-api/#sqlite3_key>
extern int sqlite3_key(sqlite3 *db, const void *pKey, int nKey);

#endif
