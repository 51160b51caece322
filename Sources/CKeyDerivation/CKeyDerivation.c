// The block function is deprecated in favour of interfaces that hash whole messages, which is where
// the time goes.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "CKeyDerivation.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <string.h>

enum { words = SHA512_DIGEST_LENGTH / sizeof(SHA_LONG64), max_salt = 64 };

static void store(const SHA_LONG64 hash[words], unsigned char *bytes) {
    for (size_t i = 0; i < words; i++) {
        for (int shift = 56; shift >= 0; shift -= 8) *bytes++ = (unsigned char)(hash[i] >> shift);
    }
}

static void load(SHA_LONG64 hash[words], const unsigned char *bytes) {
    for (size_t i = 0; i < words; i++) {
        hash[i] = 0;
        for (int j = 0; j < 8; j++) hash[i] = hash[i] << 8 | *bytes++;
    }
}

/// Hashes the block that an HMAC's inner or outer hash begins with.
/// <https://www.rfc-editor.org/rfc/rfc2104#section-2>
static void begin(SHA512_CTX *context, const unsigned char key[SHA512_CBLOCK], unsigned char mask) {
    unsigned char block[SHA512_CBLOCK];
    for (size_t i = 0; i < sizeof block; i++) block[i] = key[i] ^ mask;
    SHA512_Init(context);
    SHA512_Transform(context, block);
    OPENSSL_cleanse(block, sizeof block);
}

int ckeyderivation_pbkdf2_sha512(
    const void *passphrase, size_t passphrase_count,
    const unsigned char *salt, size_t salt_count,
    unsigned iterations,
    unsigned char *key, size_t key_count) {
    if (salt_count > max_salt || iterations < 1 || key_count > SHA512_DIGEST_LENGTH) return 0;

    struct {
        unsigned char passphrase[SHA512_CBLOCK];
        /// A hash, and the padding of a message that is one block and a hash long: all that is
        /// hashed after the first iteration has this form.
        unsigned char block[SHA512_CBLOCK];
        SHA512_CTX inner, outer, running;
        SHA_LONG64 sum[words];
    } state = {0};

    // A passphrase that is longer than a block stands for its hash.
    if (passphrase_count > SHA512_CBLOCK) {
        if (!SHA512(passphrase, passphrase_count, state.passphrase)) return 0;
    } else if (passphrase_count > 0) {
        memcpy(state.passphrase, passphrase, passphrase_count);
    }
    begin(&state.inner, state.passphrase, 0x36);
    begin(&state.outer, state.passphrase, 0x5c);
    state.block[SHA512_DIGEST_LENGTH] = 0x80;
    const unsigned bits = 8 * (SHA512_CBLOCK + SHA512_DIGEST_LENGTH);
    state.block[SHA512_CBLOCK - 2] = bits >> 8;
    state.block[SHA512_CBLOCK - 1] = bits & 0xff;

    // The first iteration is over the salt and the number of the hash, which is 1.
    unsigned char first[max_salt + 4] = {0};
    if (salt_count > 0) memcpy(first, salt, salt_count);
    first[salt_count + 3] = 1;
    unsigned char *done = HMAC(
        EVP_sha512(), state.passphrase, SHA512_CBLOCK, first, salt_count + 4, state.block, NULL);
    OPENSSL_cleanse(state.passphrase, sizeof state.passphrase);
    load(state.sum, state.block);

    state.running = state.inner;
    for (unsigned i = 1; done && i < iterations; i++) {
        memcpy(state.running.h, state.inner.h, sizeof state.running.h);
        SHA512_Transform(&state.running, state.block);
        store(state.running.h, state.block);
        memcpy(state.running.h, state.outer.h, sizeof state.running.h);
        SHA512_Transform(&state.running, state.block);
        store(state.running.h, state.block);
        for (size_t j = 0; j < words; j++) state.sum[j] ^= state.running.h[j];
    }
    if (done) {
        store(state.sum, state.block);
        memcpy(key, state.block, key_count);
    }
    OPENSSL_cleanse(&state, sizeof state);
    return done != NULL;
}
