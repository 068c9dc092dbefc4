/*
  * coder_signature.h - Ed25519 signatures of libsodium behind fixed-width types. Like libsodium, it rejects malleable
  * signatures, and keys and points of small order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CODER_SIGNATURE_H
#define CODER_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#define CODER_SIGNATURE_KEY_BYTES 32
#define CODER_SIGNATURE_BYTES 64

/* Creates a key pair from the system's random numbers. Returns 0 on success. */
int32_t coder_signature_new_pair(uint8_t public_key[_Nonnull 32], uint8_t seed[_Nonnull 32]);

/* Computes the public key that belongs to a seed. Returns 0 on success. */
int32_t coder_signature_public_key(const uint8_t seed[_Nonnull 32], uint8_t public_key[_Nonnull 32]);

/* Signs a message with the key of a seed. Returns 0 on success. */
int32_t coder_signature_sign(const uint8_t seed[_Nonnull 32], const uint8_t *_Nonnull message, size_t count,
                             uint8_t signature[_Nonnull 64]);

/* Verifies a signature of a message. Returns 0 when the signature is valid for this public key. */
int32_t coder_signature_verify(const uint8_t public_key[_Nonnull 32], const uint8_t *_Nonnull message, size_t count,
                               const uint8_t signature[_Nonnull 64]);

#endif
