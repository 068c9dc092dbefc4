/*
 * coder_signature.h - Ed25519 of libsodium behind fixed-width types. Signatures that could be changed into others, and keys
 * and points of small order, are rejected as libsodium does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CODER_SIGNATURE_H
#define CODER_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#define CODER_SIGNATURE_KEY_BYTES 32
#define CODER_SIGNATURE_BYTES 64

/* Makes a new pair from the system's random numbers. 0 on success. */
int32_t coder_signature_new_pair(uint8_t public_key[_Nonnull 32], uint8_t seed[_Nonnull 32]);

/* The public key that belongs to a seed. 0 on success. */
int32_t coder_signature_public_key(const uint8_t seed[_Nonnull 32], uint8_t public_key[_Nonnull 32]);

/* Signs with the key of a seed. 0 on success. */
int32_t coder_signature_sign(const uint8_t seed[_Nonnull 32], const uint8_t *_Nonnull message, size_t count,
                             uint8_t signature[_Nonnull 64]);

/* 0 when the signature is that of the message by the key. */
int32_t coder_signature_verify(const uint8_t public_key[_Nonnull 32], const uint8_t *_Nonnull message, size_t count,
                               const uint8_t signature[_Nonnull 64]);

#endif
