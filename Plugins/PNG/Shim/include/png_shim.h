/*
 * png_shim.h - libpng without setjmp, macros and variadics, and an engine of our own for the pixels.
 *
 * Every function that can fail answers PNGSHIM_OK or a negative status; pngshim_*_message() then says what is wrong.
 * No function calls back into its caller.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_SHIM_H
#define PNG_SHIM_H

#include <stdint.h>

#define PNGSHIM_OK        ((int32_t)0)
#define PNGSHIM_REFUSED   ((int32_t)1)   /* metadata that libpng does not take; the session goes on */
#define PNGSHIM_FAILED    ((int32_t)-1)
#define PNGSHIM_NO_MEMORY ((int32_t)-2)

/* ---- reading: what stands in front of the pixels, by libpng ---- */

typedef struct pngshim_reader pngshim_reader;

/* IHDR and what belongs to it (PNG 3rd edition, 11.2.1). */
typedef struct pngshim_header {
    uint32_t width, height;
    uint8_t  depth, color_type, interlaced, has_palette, has_transparency;
} pngshim_header;

/* What stored samples mean. */
typedef struct pngshim_colors {
    uint8_t  depth, color_type;
    uint8_t  has_key;       /* gray and RGB: one colour is transparent */
    uint16_t key[3];        /* as stored; gray: the first */
    uint8_t  palette[1024]; /* RGBA; entries that the file does not have are black */
} pngshim_colors;

/* One textual entry; the pointers live as long as the reader. */
typedef struct pngshim_text {
    const char *key;
    const char *bytes;
    uint64_t    length;
    uint8_t     is_utf8;  /* otherwise Latin-1 */
} pngshim_text;

/* Starts a reader. `max_side` and `max_chunk`: 0 = no limit. */
int32_t pngshim_reader_open(uint32_t max_side, uint64_t max_chunk, pngshim_reader **reader);
void    pngshim_reader_close(pngshim_reader *reader);
/* Pushes the signature and chunks in, never IDAT. They are not kept. */
int32_t pngshim_reader_push(pngshim_reader *reader, const uint8_t *bytes, uint64_t count);
void    pngshim_reader_header(pngshim_reader *reader, pngshim_header *header);
void    pngshim_reader_colors(pngshim_reader *reader, pngshim_colors *colors);
/* The profile of iCCP; PNGSHIM_REFUSED when there is no usable one. */
int32_t pngshim_reader_profile(pngshim_reader *reader, const uint8_t **bytes, uint64_t *count);
/* Text number `index`; PNGSHIM_REFUSED behind the last. */
int32_t pngshim_reader_text(pngshim_reader *reader, uint32_t index, pngshim_text *text);
const char *pngshim_reader_message(const pngshim_reader *reader);
/* Warning number `index`; NULL behind the last. */
const char *pngshim_reader_warning(const pngshim_reader *reader, uint32_t index);

/* ---- pixels: compressed bytes are pushed in, rows appear in the caller's memory ---- */

typedef struct pngshim_engine pngshim_engine;

/* Where the rows go. */
typedef struct pngshim_target {
    uint8_t *pixels;
    uint64_t stride;
    uint64_t row_bytes;  /* of the picture, without padding */
    uint8_t  channels;   /* as many as are stored, or more */
    uint8_t  bits;       /* 8: 16-bit samples keep their upper half */
    uint8_t  blocky;     /* pixels of an early pass fill the place of later ones */
    uint8_t  shift;      /* 1 ... 3: of an interlaced picture, only every 2nd, 4th or 8th pixel of every such row */
} pngshim_target;

/* How far the picture is. */
typedef struct pngshim_progress {
    uint32_t first_row, end_row;  /* rows touched since the last question; equal: none */
    uint8_t  complete;            /* all rows are there */
    uint8_t  ended;               /* the compressed data is over, too */
    uint8_t  extra;               /* it holds more than the rows */
} pngshim_progress;

int32_t pngshim_engine_open(pngshim_engine **engine);
void    pngshim_engine_close(pngshim_engine *engine);
void    pngshim_engine_colors(pngshim_engine *engine, const pngshim_colors *colors);
/* The bytes that an engine has once it began such a picture. */
uint64_t pngshim_engine_memory(pngshim_engine *engine, uint32_t width, uint32_t height, uint64_t row_bytes);
/* Begins a picture, a further one as well. The target stays valid as long as bytes are pushed in. */
int32_t pngshim_engine_begin(pngshim_engine *engine, uint32_t width, uint32_t height, uint8_t interlaced,
                             const pngshim_target *target);
/* The picture goes on in another target, up to the row `end_row`; PNGSHIM_REFUSED unless it is not interlaced and
 * nothing but the rows of the last target, or none, are there. */
int32_t pngshim_engine_band(pngshim_engine *engine, const pngshim_target *target, uint32_t end_row);
/* Pushes bytes of the zlib stream in. They are not kept. Whatever comes behind its end is ignored. `taken` is less than
 * `count` only where a band is full; the rest, be it none, is to be pushed for the next one. */
int32_t pngshim_engine_push(pngshim_engine *engine, const uint8_t *bytes, uint64_t count, uint64_t *taken);
/* Whether further bytes are of no use now: the band is full, or the reduced picture is there. */
uint8_t pngshim_engine_is_full(const pngshim_engine *engine);
void    pngshim_engine_progress(pngshim_engine *engine, pngshim_progress *progress);
const char *pngshim_engine_message(const pngshim_engine *engine);
/* The checksum of PNG 3rd edition, annex D; starts with 0 and goes on with its own result. */
uint32_t pngshim_crc(uint32_t crc, const uint8_t *bytes, uint64_t count);

/* ---- a second opinion: a whole file in memory, all of it by libpng ---- */

/* Fills a picture of the size in the file; PNGSHIM_FAILED where libpng has an error. Used by tests alone. */
int32_t pngshim_reference(const uint8_t *file, uint64_t count, const pngshim_target *target);

/* ---- writing: everything in front of the pixels ---- */

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
/* A chunk that goes between IHDR and PLTE; `name` has four letters. */
int32_t pngshim_writer_chunk(pngshim_writer *writer, const char *name, const uint8_t *bytes, uint64_t count);
/* Writes everything up to the pixels. */
int32_t pngshim_writer_begin(pngshim_writer *writer);
/* The bytes that were produced since the last call; valid until the next call on this writer. */
void    pngshim_writer_take(pngshim_writer *writer, const uint8_t **bytes, uint64_t *count);
const char *pngshim_writer_message(const pngshim_writer *writer);

#endif
