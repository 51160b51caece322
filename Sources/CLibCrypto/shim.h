#ifndef CLIBCRYPTO_SHIM_H
#define CLIBCRYPTO_SHIM_H

// What OpenSSL 3 deprecates isn't even declared: the next major version may drop it.
// <https://docs.openssl.org/3.0/man7/openssl_user_macros/>
#define OPENSSL_API_COMPAT 30000
#define OPENSSL_NO_DEPRECATED

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

// An HMAC with its key; NULL if it can't be made. Its parameters are a list of pointers, which is
// easier to write in C. <https://docs.openssl.org/3.0/man7/EVP_MAC-HMAC/>
static inline EVP_MAC_CTX *clibcrypto_hmac_new(const EVP_MD *digest, const void *key, size_t count) {
    EVP_MAC *algorithm = EVP_MAC_fetch(NULL, OSSL_MAC_NAME_HMAC, NULL);
    if (!algorithm) return NULL;
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(algorithm);
    EVP_MAC_free(algorithm);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)EVP_MD_get0_name(digest), 0),
        OSSL_PARAM_construct_end(),
    };
    if (context && EVP_MAC_init(context, key, count, parameters) == 1) return context;
    EVP_MAC_CTX_free(context);
    return NULL;
}

// HKDF with SHA-256 (RFC 5869), both steps. Answers 1, or 0 if it can't be computed.
// <https://docs.openssl.org/3.0/man7/EVP_KDF-HKDF/>
static inline int clibcrypto_hkdf_sha256(
    const void *key, size_t key_count,
    const void *salt, size_t salt_count,
    const void *info, size_t info_count,
    void *derived, size_t derived_count
) {
    EVP_KDF *algorithm = EVP_KDF_fetch(NULL, OSSL_KDF_NAME_HKDF, NULL);
    if (!algorithm) return 0;
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(algorithm);
    EVP_KDF_free(algorithm);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)OSSL_DIGEST_NAME_SHA2_256, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, key_count),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, salt_count),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_count),
        OSSL_PARAM_construct_end(),
    };
    int done = context && EVP_KDF_derive(context, derived, derived_count, parameters) == 1;
    EVP_KDF_CTX_free(context);
    return done;
}

// AES-256 in Galois/Counter Mode with a nonce of 12 bytes and a tag of 16, both ways. Answers 1, or 0 if
// it can't be computed, or what is opened isn't authentic.
// <https://docs.openssl.org/3.0/man3/EVP_EncryptInit/#gcm-and-ocb-modes>
static inline int clibcrypto_aes256_gcm(
    int seals, const unsigned char *key, const unsigned char *nonce,
    const unsigned char *header, int header_count,
    const unsigned char *input, int count, unsigned char *output, unsigned char *tag
) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int length = 0, end = 0;
    int done = context
        && EVP_CipherInit_ex(context, EVP_aes_256_gcm(), NULL, key, nonce, seals) == 1
        && EVP_CipherUpdate(context, NULL, &length, header, header_count) == 1
        && EVP_CipherUpdate(context, output, &length, input, count) == 1
        && (seals || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, tag) == 1)
        && EVP_CipherFinal_ex(context, output + length, &end) == 1
        && (!seals || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1);
    EVP_CIPHER_CTX_free(context);
    return done;
}

// Decrypts AES-256 in CBC mode with ciphertext stealing, for what isn't a number of whole blocks. In place;
// answers 1, or 0 if it can't be computed.
// <https://docs.openssl.org/3.0/man7/EVP_CIPHER-AES/>
static inline int clibcrypto_aes256_cts_open(
    const unsigned char *key, const unsigned char *vector, unsigned char *bytes, int count
) {
    EVP_CIPHER *algorithm = EVP_CIPHER_fetch(NULL, "AES-256-CBC-CTS", NULL);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_CIPHER_PARAM_CTS_MODE, (char *)OSSL_CIPHER_CTS_MODE_CS3, 0),
        OSSL_PARAM_construct_end(),
    };
    int length = 0;
    int done = algorithm && context
        && EVP_CipherInit_ex2(context, algorithm, key, vector, 0, parameters) == 1
        && EVP_CipherUpdate(context, bytes, &length, bytes, count) == 1 && length == count;
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(algorithm);
    return done;
}

#endif
