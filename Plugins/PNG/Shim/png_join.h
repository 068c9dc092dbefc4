/*
 * png_join.h - ends a deflate stream so that another one can follow; internal to the shim.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_JOIN_H
#define PNG_JOIN_H

#include <stddef.h>
#include <stdint.h>

/* The maximum number of appended bytes: the rest of a byte, and an empty stored block. */
#define PNG_JOIN_ROOM 6

/* Removes the mark of the last block of a raw deflate stream (RFC 1951) and appends an empty stored block, which ends
 * at a byte boundary. `input` is the decoded stream; `stream` has room for PNG_JOIN_ROOM bytes more. Returns the
 * new length of the stream, or 0 if it is invalid. */
size_t png_join(uint8_t *stream, size_t count, const uint8_t *input, size_t input_count);

#endif
