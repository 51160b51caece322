#ifndef CKEYDERIVATION_H
#define CKEYDERIVATION_H

#include <stddef.h>

/// PBKDF2 with HMAC-SHA-512, the derivation of SQLCipher 4, in little more than half of the time
/// that libcrypto's own takes.
///
/// libcrypto 3 copies and allocates contexts in each of the 256,000 iterations, which takes about
/// as long as the hashing. Here the two blocks that hold the passphrase are hashed once, and an
/// iteration is what is left: two calls of libcrypto's block function.
/// <https://www.rfc-editor.org/rfc/rfc8018#section-5.2>
///
/// @param passphrase Any bytes, of any count.
/// @param salt_count At most 64 bytes.
/// @param iterations From 1 upwards.
/// @param key_count At most 64 bytes: what one hash gives.
/// @return 1; 0 for counts that are not allowed, or if libcrypto fails.
int ckeyderivation_pbkdf2_sha512(
    const void *passphrase, size_t passphrase_count,
    const unsigned char *salt, size_t salt_count,
    unsigned iterations,
    unsigned char *key, size_t key_count);

#endif
