#ifndef CLIBCRYPTO_CONTAINER_H
#define CLIBCRYPTO_CONTAINER_H

// A key in a PKCS#12 container (RFC 7292): a secret bag, encrypted with AES-256 by a key that PBKDF2
// derives from a passphrase, and authenticated with an HMAC. It is in C because libcrypto's stacks
// are macros. <https://docs.openssl.org/3.0/man3/PKCS12_SAFEBAG_create_cert/>

#include "shim.h"

#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/pkcs12.h>
#include <string.h>

enum clibcrypto_container_result {
    CLIBCRYPTO_CONTAINER_OPENED,
    CLIBCRYPTO_CONTAINER_MALFORMED,
    CLIBCRYPTO_CONTAINER_NOT_AUTHENTIC,
    CLIBCRYPTO_CONTAINER_WITHOUT_KEY,
};

// The bag's type: a key of the cipher, or any bytes. <https://www.rfc-editor.org/rfc/rfc7292#section-4.2.5>
static inline int clibcrypto_container_type(int is_raw) {
    return is_raw ? NID_aes_256_cbc : NID_pkcs7_data;
}

// The secret in a bag; NULL if there is none. The bag owns it.
static inline ASN1_OCTET_STRING *clibcrypto_container_secret(const PKCS12_SAFEBAG *bag) {
    if (PKCS12_SAFEBAG_get_nid(bag) != NID_secretBag) return NULL;
    const ASN1_TYPE *value = PKCS12_SAFEBAG_get0_bag_obj(bag);
    return value && value->type == V_ASN1_OCTET_STRING ? value->value.octet_string : NULL;
}

// Wipes the secrets of bags, which libcrypto frees as they are, and frees the bags.
static inline void clibcrypto_container_free(STACK_OF(PKCS12_SAFEBAG) *bags) {
    for (int index = 0; index < sk_PKCS12_SAFEBAG_num(bags); index++) {
        ASN1_OCTET_STRING *secret = clibcrypto_container_secret(sk_PKCS12_SAFEBAG_value(bags, index));
        if (secret) OPENSSL_cleanse(secret->data, (size_t)secret->length);
    }
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
}

// Seals a key. Answers the container's size; 0 if it can't be made. The caller frees it with
// clibcrypto_free.
static inline int clibcrypto_container_seal(
    const unsigned char *secret, int count, int is_raw, const char *name,
    const char *passphrase, int iterations, unsigned char **container
) {
    STACK_OF(PKCS12_SAFEBAG) *bags = NULL;
    STACK_OF(PKCS7) *safes = NULL;
    PKCS7 *safe = NULL;
    PKCS12 *sealed = NULL;
    // libcrypto's own choice has 8 bytes before OpenSSL 3.1.
    unsigned char salt[16];
    int size = 0;
    *container = NULL;
    PKCS12_SAFEBAG *bag =
        PKCS12_add_secret(&bags, clibcrypto_container_type(is_raw), secret, count);
    if (bag && PKCS12_add_friendlyname_utf8(bag, name, -1)
        && RAND_bytes(salt, sizeof salt) == 1
        && (safe = PKCS12_pack_p7encdata(NID_aes_256_cbc, passphrase, -1, salt, sizeof salt,
                                         iterations, bags))
        && (safes = sk_PKCS7_new_null()) && sk_PKCS7_push(safes, safe) && (safe = NULL, 1)
        && (sealed = PKCS12_add_safes(safes, 0))
        && PKCS12_set_mac(sealed, passphrase, -1, NULL, 16, iterations, EVP_sha256()))
        size = i2d_PKCS12(sealed, container);
    clibcrypto_container_free(bags);
    PKCS7_free(safe);
    sk_PKCS7_pop_free(safes, PKCS7_free);
    PKCS12_free(sealed);
    ERR_clear_error();
    return size > 0 ? size : 0;
}

static inline void clibcrypto_free(void *memory) { OPENSSL_free(memory); }

// Copies the first key of a safe. Answers whether there is one that fits.
static inline int clibcrypto_container_find(
    PKCS7 *safe, const char *passphrase,
    unsigned char *secret, int capacity, int *count, int *is_raw
) {
    if (!PKCS7_type_is_encrypted(safe)) return 0;
    STACK_OF(PKCS12_SAFEBAG) *bags = PKCS12_unpack_p7encdata(safe, passphrase, -1);
    int is_found = 0;
    for (int index = 0; !is_found && index < sk_PKCS12_SAFEBAG_num(bags); index++) {
        const PKCS12_SAFEBAG *bag = sk_PKCS12_SAFEBAG_value(bags, index);
        const ASN1_OCTET_STRING *found = clibcrypto_container_secret(bag);
        if (!found || found->length > capacity) continue;
        int type = OBJ_obj2nid(PKCS12_SAFEBAG_get0_bag_type(bag));
        *is_raw = type == clibcrypto_container_type(1);
        if (!*is_raw && type != clibcrypto_container_type(0)) continue;
        memcpy(secret, found->data, (size_t)found->length);
        *count = found->length;
        is_found = 1;
    }
    if (bags) clibcrypto_container_free(bags);
    return is_found;
}

// Opens a container. A damaged number of iterations could keep it busy for hours, so it is limited.
static inline enum clibcrypto_container_result clibcrypto_container_open(
    const unsigned char *bytes, long size, const char *passphrase, long iteration_limit,
    unsigned char *secret, int capacity, int *count, int *is_raw
) {
    enum clibcrypto_container_result result = CLIBCRYPTO_CONTAINER_MALFORMED;
    const unsigned char *end = bytes;
    PKCS12 *sealed = d2i_PKCS12(NULL, &end, size);
    STACK_OF(PKCS7) *safes = NULL;
    const ASN1_INTEGER *iterations = NULL;
    if (!sealed || end != bytes + size || !PKCS12_mac_present(sealed)) goto done;
    PKCS12_get0_mac(NULL, NULL, NULL, &iterations, sealed);
    if (iterations && (ASN1_INTEGER_get(iterations) < 1
            || ASN1_INTEGER_get(iterations) > iteration_limit)) goto done;
    result = CLIBCRYPTO_CONTAINER_NOT_AUTHENTIC;
    if (!PKCS12_verify_mac(sealed, passphrase, -1)) goto done;
    result = CLIBCRYPTO_CONTAINER_WITHOUT_KEY;
    safes = PKCS12_unpack_authsafes(sealed);
    for (int index = 0; index < sk_PKCS7_num(safes); index++) {
        PKCS7 *safe = sk_PKCS7_value(safes, index);
        if (!clibcrypto_container_find(safe, passphrase, secret, capacity, count, is_raw)) continue;
        result = CLIBCRYPTO_CONTAINER_OPENED;
        break;
    }
done:
    sk_PKCS7_pop_free(safes, PKCS7_free);
    PKCS12_free(sealed);
    ERR_clear_error();
    return result;
}

#endif
