/*
 * png_join.h - makes a deflate stream one that another stream can follow; inside the shim only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_JOIN_H
#define PNG_JOIN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that are appended at most: the rest of a byte, and an empty stored block. */
#define PNG_JOIN_ROOM 6

/* Takes the mark off the last block of a raw deflate stream (RFC 1951) and appends an empty stored block, which ends with
 * a byte. `input` holds the bytes that the stream decodes to; `stream` has room for PNG_JOIN_ROOM bytes more. Returns the
 * bytes of the stream then, or 0 where it is none. */
size_t png_join(uint8_t *stream, size_t count, const uint8_t *input, size_t input_count);

#endif
