/*
 * png_squeeze.h - makes a deflate stream shorter; internal to the shim.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_SQUEEZE_H
#define PNG_SQUEEZE_H

#include "png_blocks.h"

typedef struct png_squeezer png_squeezer;

/* Makes a squeezer for parts of up to `most` bytes. NULL without memory. */
png_squeezer *png_squeezer_open(size_t most);
void          png_squeezer_close(png_squeezer *squeezer);
/* Returns the memory of a squeezer, without its output. */
uint64_t      png_squeezer_memory(size_t most);

/* Writes the bytes behind the first `before` ones as blocks. `stream` is a zlib stream of the `count` bytes, whose matches
 * are used; matches may refer to the first bytes. NULL: without matches. Returns 0 without memory. */
int png_squeeze(png_squeezer *squeezer, const uint8_t *bytes, size_t before, size_t count, const uint8_t *stream,
                size_t stream_count, png_bits *bits, int is_last);
/* Returns the part of the bits that matches saved in the last call. */
float png_squeezer_gain(const png_squeezer *squeezer);

#endif
