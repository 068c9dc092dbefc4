#include "coder_signature.h"

#include <sodium.h>
#include <string.h>

_Static_assert(crypto_sign_PUBLICKEYBYTES == CODER_SIGNATURE_KEY_BYTES, "public key");
_Static_assert(crypto_sign_SEEDBYTES == CODER_SIGNATURE_KEY_BYTES, "seed");
_Static_assert(crypto_sign_BYTES == CODER_SIGNATURE_BYTES, "signature");

int32_t coder_signature_new_pair(uint8_t public_key[32], uint8_t seed[32]) {
    if (sodium_init() < 0) {
        return -1;
    }
    randombytes_buf(seed, CODER_SIGNATURE_KEY_BYTES);
    return coder_signature_public_key(seed, public_key);
}

int32_t coder_signature_public_key(const uint8_t seed[32], uint8_t public_key[32]) {
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    if (sodium_init() < 0) {
        return -1;
    }
    int32_t status = crypto_sign_seed_keypair(public_key, secret, seed);
    sodium_memzero(secret, sizeof secret);
    return status;
}

int32_t coder_signature_sign(const uint8_t seed[32], const uint8_t *message, size_t count, uint8_t signature[64]) {
    uint8_t public_key[crypto_sign_PUBLICKEYBYTES];
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    if (sodium_init() < 0 || crypto_sign_seed_keypair(public_key, secret, seed) != 0) {
        return -1;
    }
    int32_t status = crypto_sign_detached(signature, NULL, message, count, secret);
    sodium_memzero(secret, sizeof secret);
    return status;
}

int32_t coder_signature_verify(const uint8_t public_key[32], const uint8_t *message, size_t count,
                               const uint8_t signature[64]) {
    if (sodium_init() < 0) {
        return -1;
    }
    return crypto_sign_verify_detached(signature, message, count, public_key);
}
