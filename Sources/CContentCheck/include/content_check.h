/*
  * content_check.h - detects damaged bytes with a 128-bit checksum.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CONTENT_CHECK_H
#define CONTENT_CHECK_H

#include <stddef.h>
#include <stdint.h>

typedef struct content_check {
    uint64_t low;
    uint64_t high;
} content_check;

/* Computes XXH3 with 128 bits. It detects accidental damage; it does not protect against deliberate collisions. */
content_check content_check_of(const void *bytes, size_t count);

#endif
