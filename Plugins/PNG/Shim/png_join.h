/*
 * png_join.h - makes a deflate stream one that another stream can follow; inside the shim only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_JOIN_H
#define PNG_JOIN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that are appended at most: the rest of a byte, an empty stored block, and one more to decode the result. */
#define PNG_JOIN_ROOM 11

/* Takes the mark off the last block of a raw deflate stream (RFC 1951) and appends an empty stored block, which ends with
 * a byte. The stream decodes to `input_count` bytes and has room for PNG_JOIN_ROOM bytes more. Returns the bytes of the
 * stream then, or 0 where no last block is found. png_join may take something else for the last block: decode what it
 * made. png_join_surely never does, and takes several times as long. */
size_t png_join(uint8_t *stream, size_t count, size_t input_count);
size_t png_join_surely(uint8_t *stream, size_t count, size_t input_count);

#endif
