/*
 * png_squeeze.h - a deflate stream becomes a shorter one of the same bytes; inside the shim only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_SQUEEZE_H
#define PNG_SQUEEZE_H

#include "png_blocks.h"

typedef struct png_squeezer png_squeezer;

/* For parts of up to `most` bytes. NULL without memory. */
png_squeezer *png_squeezer_open(size_t most);
void          png_squeezer_close(png_squeezer *squeezer);
/* Bytes that a squeezer takes, its output aside. */
uint64_t      png_squeezer_memory(size_t most);

/* Writes the bytes behind the first `before` ones as blocks. `stream` is a zlib stream of all `count` bytes, whose matches
 * are used; matches may reach into the first ones. NULL: without matches. Answers 0 without memory. */
int png_squeeze(png_squeezer *squeezer, const uint8_t *bytes, size_t before, size_t count, const uint8_t *stream,
                size_t stream_count, png_bits *bits, int is_last);
/* The part of the bits that matches saved in the last call. */
float png_squeezer_gain(const png_squeezer *squeezer);

#endif
