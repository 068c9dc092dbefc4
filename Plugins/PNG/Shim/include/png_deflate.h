/*
 * png_deflate.h - the pixels of PNG without libpng: rows become samples, filtered bytes and a zlib stream.
 *
 * For streams that libpng does not write, such as the frames of an APNG. No function calls back into its caller, and
 * none keeps a pointer that it was given, but for the palette of a row writer.
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
#define PNGSHIM_LIBDEFLATE ((uint8_t)2)  /* small and fast, levels 1 ... 12, but all of the input is kept until the end */

typedef struct pngshim_effort {
    uint8_t  method;
    uint8_t  level;
    uint8_t  filtered;  /* what comes went through row filters: zlib then looks less for strings */
    uint8_t  measured;  /* nothing is kept of the output but its length */
    uint8_t  part;      /* which part of a stream it is: PNGSHIM_PART_ bits */
    uint64_t total;     /* libdeflate: the bytes that will come */
} pngshim_effort;

/* A part is compressed by itself and ends with a byte, so that all of them in order are one stream. The first has the
 * head of the stream; behind the last its checksum has to be appended. */
#define PNGSHIM_PART_WHOLE  ((uint8_t)0)
#define PNGSHIM_PART_FIRST  ((uint8_t)1)
#define PNGSHIM_PART_MIDDLE ((uint8_t)2)
#define PNGSHIM_PART_LAST   ((uint8_t)4)

/* The bytes that are taken for all of the input and output; 0 where both pass through. */
uint64_t pngshim_deflater_memory(const pngshim_effort *effort);
int32_t pngshim_deflater_open(pngshim_deflater **deflater);
void    pngshim_deflater_close(pngshim_deflater *deflater);
/* Begins a stream; what is left of another one is gone. */
int32_t pngshim_deflater_start(pngshim_deflater *deflater, const pngshim_effort *effort);
int32_t pngshim_deflater_push(pngshim_deflater *deflater, const uint8_t *bytes, uint64_t count, uint8_t is_last);
/* The Adler-32 of the bytes of a part. */
uint32_t pngshim_deflater_checksum(const pngshim_deflater *deflater);
/* The Adler-32 of two parts, the second of `count` bytes, as of one; that of no byte is 1. */
uint32_t pngshim_checksum_join(uint32_t first, uint32_t second, uint64_t count);
/* Ends the stream behind its last part. */
int32_t pngshim_deflater_seal(pngshim_deflater *deflater, uint32_t checksum);
/* Bytes since the start of the stream. */
uint64_t pngshim_deflater_length(const pngshim_deflater *deflater);
/* How many bytes wait to be taken. */
uint64_t pngshim_deflater_waiting(const pngshim_deflater *deflater);
/* The bytes that were produced since the last call; valid until the next call on this deflater. */
void    pngshim_deflater_take(pngshim_deflater *deflater, const uint8_t **bytes, uint64_t *count);

/* ---- the way back, for palette indices without a filter ---- */

typedef struct pngshim_indices pngshim_indices;

/* `stream` must stay where it is until the reader is closed. */
int32_t pngshim_indices_open(const uint8_t *stream, uint64_t count, pngshim_indices **reader);
void    pngshim_indices_close(pngshim_indices *reader);
/* Reads rows of a filter byte (always 0) and `width` indices, as RGBA of `palette`: 256 entries of four bytes. */
int32_t pngshim_indices_rows(pngshim_indices *reader, const uint8_t *palette, uint8_t *rgba, uint32_t width,
                             uint32_t rows);

#endif
