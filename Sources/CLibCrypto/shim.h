#ifndef CLIBCRYPTO_SHIM_H
#define CLIBCRYPTO_SHIM_H

// What OpenSSL 3 deprecates isn't even declared: the next major version may drop it.
// <https://docs.openssl.org/3.0/man7/openssl_user_macros/>
#define OPENSSL_API_COMPAT 30000
#define OPENSSL_NO_DEPRECATED

#include <openssl/core_names.h>
#include <openssl/evp.h>
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

#endif
