/*
 * png_deflate.h - the pixels of PNG without libpng: converts rows to samples, filtered bytes and a zlib stream.
 *
 * For streams that libpng does not write, such as the frames of an APNG. No function calls back into its caller, and
 * none keeps a pointer argument, except the palette of a row writer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_DEFLATE_H
#define PNG_DEFLATE_H

#include <stdint.h>

#include "png_shim.h"

/* ---- a zlib stream that is written piece by piece ---- */

typedef struct pngshim_deflater pngshim_deflater;

#define PNGSHIM_ZLIB       ((uint8_t)0)  /* small, levels 0 ... 9 */
#define PNGSHIM_ISAL       ((uint8_t)1)  /* fast, levels 0 ... 3 */
#define PNGSHIM_LIBDEFLATE ((uint8_t)2)  /* small and fast, levels 1 ... 12; keeps all input until the end */

typedef struct pngshim_effort {
    uint8_t  method;
    uint8_t  level;
    uint8_t  filtered;  /* the input went through row filters: zlib then searches fewer strings */
    uint8_t  measured;  /* only the length of the output is kept */
    uint8_t  part;      /* the position in a stream: PNGSHIM_PART_ bits */
    uint64_t total;     /* libdeflate: the number of input bytes */
} pngshim_effort;

/* A part is compressed separately and ends at a byte boundary, so that all parts in order form one stream. The first
 * has the head of the stream; its checksum must be appended behind the last. */
#define PNGSHIM_PART_WHOLE  ((uint8_t)0)
#define PNGSHIM_PART_FIRST  ((uint8_t)1)
#define PNGSHIM_PART_MIDDLE ((uint8_t)2)
#define PNGSHIM_PART_LAST   ((uint8_t)4)

/* Returns the memory for the stored input and output; 0 if both pass through. */
uint64_t pngshim_deflater_memory(const pngshim_effort *effort);
int32_t pngshim_deflater_open(pngshim_deflater **deflater);
void    pngshim_deflater_close(pngshim_deflater *deflater);
/* Begins a stream; discards the rest of an earlier one. */
int32_t pngshim_deflater_start(pngshim_deflater *deflater, const pngshim_effort *effort);
int32_t pngshim_deflater_push(pngshim_deflater *deflater, const uint8_t *bytes, uint64_t count, uint8_t is_last);
/* The Adler-32 of the bytes of a part. */
uint32_t pngshim_deflater_checksum(const pngshim_deflater *deflater);
/* Returns the Adler-32 of two joined parts, the second of `count` bytes; that of no bytes is 1. */
uint32_t pngshim_checksum_join(uint32_t first, uint32_t second, uint64_t count);
/* Ends the stream behind its last part. */
int32_t pngshim_deflater_seal(pngshim_deflater *deflater, uint32_t checksum);
/* Returns the number of bytes since the start of the stream. */
uint64_t pngshim_deflater_length(const pngshim_deflater *deflater);
/* Returns the number of bytes to take. */
uint64_t pngshim_deflater_waiting(const pngshim_deflater *deflater);
/* Returns the bytes since the last call; valid until the next call on this deflater. */
void    pngshim_deflater_take(pngshim_deflater *deflater, const uint8_t **bytes, uint64_t *count);

/* ---- reading back palette indices without a filter ---- */

typedef struct pngshim_indices pngshim_indices;

/* `stream` must keep its address until the reader is closed. */
int32_t pngshim_indices_open(const uint8_t *stream, uint64_t count, pngshim_indices **reader);
void    pngshim_indices_close(pngshim_indices *reader);
/* Reads rows of a filter byte (always 0) and `width` indices, as RGBA of `palette`: 256 entries of four bytes. */
int32_t pngshim_indices_rows(pngshim_indices *reader, const uint8_t *palette, uint8_t *rgba, uint32_t width,
                             uint32_t rows);

#endif
