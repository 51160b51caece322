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

#endif
