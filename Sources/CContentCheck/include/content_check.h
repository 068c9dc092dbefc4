/*
 * content_check.h - tells bytes that were damaged from those that were written.
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

/* XXH3, 128 bits: against accidents, not against somebody who wants two contents to have one value. */
content_check content_check_of(const void *bytes, size_t count);

#endif
