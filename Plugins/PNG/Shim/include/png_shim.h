/*
 * png_shim.h - libpng without setjmp, macros and variadics, and our own engine for the pixels.
 *
 * Every function that can fail returns PNGSHIM_OK or a negative status; pngshim_*_message() returns the reason.
 * No function calls back into its caller.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_SHIM_H
#define PNG_SHIM_H

#include <stdint.h>

#define PNGSHIM_OK        ((int32_t)0)
#define PNGSHIM_REFUSED   ((int32_t)1)   /* libpng rejects the metadata; the session continues */
#define PNGSHIM_FAILED    ((int32_t)-1)
#define PNGSHIM_NO_MEMORY ((int32_t)-2)

/* ---- reading the chunks in front of the pixels, by libpng ---- */

typedef struct pngshim_reader pngshim_reader;

/* The fields of IHDR (PNG 3rd edition, 11.2.1). */
typedef struct pngshim_header {
    uint32_t width, height;
    uint8_t  depth, color_type, interlaced, has_palette, has_transparency;
} pngshim_header;

/* The meaning of stored samples. */
typedef struct pngshim_colors {
    uint8_t  depth, color_type;
    uint8_t  has_key;       /* gray and RGB: one color is transparent */
    uint16_t key[3];        /* as stored; gray: the first */
    uint8_t  palette[1024]; /* RGBA; missing entries are black */
} pngshim_colors;

/* One textual entry; the pointers live as long as the reader. */
typedef struct pngshim_text {
    const char *key;
    const char *bytes;
    uint64_t    length;
    uint8_t     is_utf8;  /* else Latin-1 */
} pngshim_text;

/* Starts a reader. `max_side` and `max_chunk`: 0 = no limit. */
int32_t pngshim_reader_open(uint32_t max_side, uint64_t max_chunk, pngshim_reader **reader);
void    pngshim_reader_close(pngshim_reader *reader);
/* Reads the signature and chunks, never IDAT. Does not keep the bytes. */
int32_t pngshim_reader_push(pngshim_reader *reader, const uint8_t *bytes, uint64_t count);
void    pngshim_reader_header(pngshim_reader *reader, pngshim_header *header);
void    pngshim_reader_colors(pngshim_reader *reader, pngshim_colors *colors);
/* Returns the profile of iCCP; PNGSHIM_REFUSED if there is no usable one. */
int32_t pngshim_reader_profile(pngshim_reader *reader, const uint8_t **bytes, uint64_t *count);
/* Returns text number `index`; PNGSHIM_REFUSED behind the last. */
int32_t pngshim_reader_text(pngshim_reader *reader, uint32_t index, pngshim_text *text);
const char *pngshim_reader_message(const pngshim_reader *reader);
/* Returns warning number `index`; NULL behind the last. */
const char *pngshim_reader_warning(const pngshim_reader *reader, uint32_t index);

/* ---- pixels: decodes compressed bytes into rows in the caller's memory ---- */

typedef struct pngshim_engine pngshim_engine;

/* The target of the rows. */
typedef struct pngshim_target {
    uint8_t *pixels;
    uint64_t stride;
    uint64_t row_bytes;  /* of the image, without padding */
    uint8_t  channels;   /* as many as are stored, or more */
    uint8_t  bits;       /* 8: 16-bit samples keep their upper half */
    uint8_t  blocky;     /* pixels of an early pass also fill the pixels of later passes */
    uint8_t  shift;      /* 1 ... 3: for an interlaced image, only every 2nd, 4th or 8th pixel and row */
} pngshim_target;

/* The progress of an image. */
typedef struct pngshim_progress {
    uint32_t first_row, end_row;  /* rows changed since the last call; equal: none */
    uint8_t  complete;            /* all rows are there */
    uint8_t  ended;               /* the compressed data has ended, too */
    uint8_t  extra;               /* the data continues after the last row */
    uint64_t unused;              /* bytes that were pushed behind the end of the compressed data */
} pngshim_progress;

int32_t pngshim_engine_open(pngshim_engine **engine);
void    pngshim_engine_close(pngshim_engine *engine);
void    pngshim_engine_colors(pngshim_engine *engine, const pngshim_colors *colors);
/* Returns the memory of an engine after it has begun such an image. */
uint64_t pngshim_engine_memory(pngshim_engine *engine, uint32_t width, uint32_t height, uint64_t row_bytes);
/* Begins an image, also after an earlier one. The target stays valid as long as the caller pushes bytes. */
int32_t pngshim_engine_begin(pngshim_engine *engine, uint32_t width, uint32_t height, uint8_t interlaced,
                             const pngshim_target *target);
/* Continues the image in another target, up to the row `end_row`; PNGSHIM_REFUSED unless it is not interlaced and
 * exactly the rows of the last target, or none, are decoded. */
int32_t pngshim_engine_band(pngshim_engine *engine, const pngshim_target *target, uint32_t end_row);
/* Decodes bytes of the zlib stream; does not keep them. Counts bytes behind its end. `taken` is less than
 * `count` only if a band is full; push the rest, even if it is empty, for the next band. */
int32_t pngshim_engine_push(pngshim_engine *engine, const uint8_t *bytes, uint64_t count, uint64_t *taken);
/* Whether further bytes are useless now: the band is full, or the reduced image is complete. */
uint8_t pngshim_engine_is_full(const pngshim_engine *engine);
/* Whether the compressed data has ended: further bytes change nothing. */
uint8_t pngshim_engine_has_ended(const pngshim_engine *engine);
void    pngshim_engine_progress(pngshim_engine *engine, pngshim_progress *progress);
const char *pngshim_engine_message(const pngshim_engine *engine);
/* The checksum of PNG 3rd edition, annex D; start with 0 and continue with its result. */
uint32_t pngshim_crc(uint32_t crc, const uint8_t *bytes, uint64_t count);

/* ---- the reference: decodes a whole file in memory by libpng ---- */

/* Fills an image of the size in the file; PNGSHIM_FAILED if libpng reports an error. Only for tests. */
int32_t pngshim_reference(const uint8_t *file, uint64_t count, const pngshim_target *target);

/* ---- writing the chunks in front of the pixels ---- */

typedef struct pngshim_writer pngshim_writer;

typedef struct pngshim_layout {
    uint32_t width, height;
    uint8_t  depth;        /* of the file */
    uint8_t  color_type;   /* of the file */
    uint8_t  interlaced;
} pngshim_layout;

int32_t pngshim_writer_open(const pngshim_layout *layout, pngshim_writer **writer);
void    pngshim_writer_close(pngshim_writer *writer);
/* The palette as RGBA; the first `transparent` entries are written to tRNS. */
int32_t pngshim_writer_palette(pngshim_writer *writer, const uint8_t *rgba, uint32_t count, uint32_t transparent);
int32_t pngshim_writer_profile(pngshim_writer *writer, const uint8_t *bytes, uint64_t count);
int32_t pngshim_writer_exif(pngshim_writer *writer, const uint8_t *bytes, uint64_t count);
/* `text` ends with a NUL; `is_utf8` chooses iTXt, otherwise tEXt; `compressed` deflates it. */
int32_t pngshim_writer_text(pngshim_writer *writer, const char *key, const char *text, uint8_t is_utf8,
                            uint8_t compressed);
int32_t pngshim_writer_srgb(pngshim_writer *writer);
int32_t pngshim_writer_density(pngshim_writer *writer, uint32_t x, uint32_t y, uint8_t is_meter);
/* Adds a chunk between IHDR and PLTE; `name` has four letters. */
int32_t pngshim_writer_chunk(pngshim_writer *writer, const char *name, const uint8_t *bytes, uint64_t count);
/* Writes all chunks up to the pixels. */
int32_t pngshim_writer_begin(pngshim_writer *writer);
/* Returns the bytes since the last call; valid until the next call on this writer. */
void    pngshim_writer_take(pngshim_writer *writer, const uint8_t **bytes, uint64_t *count);
const char *pngshim_writer_message(const pngshim_writer *writer);

#endif
