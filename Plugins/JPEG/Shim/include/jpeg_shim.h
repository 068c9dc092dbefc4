/*
 * jpeg_shim.h - libjpeg-turbo as functions that return a status.
 *
 * The library leaves a failed call by longjmp. Every function here is one setjmp frame, so no jump crosses
 * a frame of the caller; callbacks return to C before C jumps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef JPEG_SHIM_H
#define JPEG_SHIM_H

#include <stddef.h>
#include <stdint.h>

#define JPEGS_OK           ((int32_t)0)
#define JPEGS_NEEDS_INPUT  ((int32_t)1)  /* suspended: provide more bytes and call again                 */
#define JPEGS_MORE         ((int32_t)2)  /* a slice of the work is done: call again                      */
#define JPEGS_NOT_MINE     ((int32_t)-1)
#define JPEGS_UNSUPPORTED  ((int32_t)-2) /* valid JPEG, but this build of the library does not read it   */
#define JPEGS_CORRUPT      ((int32_t)-3)
#define JPEGS_NO_MEMORY    ((int32_t)-4)
#define JPEGS_TRUNCATED    ((int32_t)-5) /* the complete input ends within the image                     */
#define JPEGS_STOPPED      ((int32_t)-6) /* a callback returned another value than 0                     */
#define JPEGS_SCANS        ((int32_t)-7) /* more scans than the limit                                    */

/* The pixel formats of the surface. CMYK: 0 = no ink. */
#define JPEGS_GRAY  ((uint32_t)1)
#define JPEGS_RGB   ((uint32_t)2)
#define JPEGS_RGBA  ((uint32_t)3)
#define JPEGS_BGRA  ((uint32_t)4)
#define JPEGS_CMYK  ((uint32_t)5)

/* Returns the number of bytes before the next marker that is not part of compressed data: C0 ... FE except D0 ... D7.
   Without such a marker: all bytes, except an FF at the end. */
size_t jpegs_before_marker(const uint8_t *bytes, size_t count);

/* ---- decoding ---- */

typedef struct jpegs_decoder jpegs_decoder;

typedef struct jpegs_info {
    uint32_t width, height;
    uint32_t components;
    uint32_t color;             /* JPEGS_GRAY, JPEGS_RGB or JPEGS_CMYK; 0 = unsupported           */
    uint32_t multi_scan;        /* 1: all coefficients are kept in memory until the last scan     */
    uint32_t arithmetic;        /* 1: decodes only a complete input, the library cannot suspend */
    uint32_t has_jfif;
    uint32_t density_unit;      /* JFIF: 0 aspect, 1 per inch, 2 per centimeter                   */
    uint32_t density_x, density_y;
    uint64_t coefficient_bytes; /* the memory of all coefficients                                 */
    uint32_t unit_width, unit_height; /* distance of edges that are block edges of every component */
} jpegs_info;

/* NULL without memory. */
jpegs_decoder *jpegs_decoder_new(void);
void           jpegs_decoder_free(jpegs_decoder *d);

/* Provides the bytes from the start of the file, which ends a window. `bytes` may move between calls, but its contents
   must not change. */
void jpegs_decoder_input(jpegs_decoder *d, const uint8_t *bytes, size_t available, int32_t complete);

/* Copies up to `count` bytes from `offset` of the file, and returns their number; fewer only at the end of the file. */
typedef size_t (*jpegs_read)(void *context, uint64_t offset, uint8_t *bytes, size_t count);

/* Makes the library read a complete file itself, through a window of `room` bytes. Call it at most once, before any
   other function. If the library needs the whole file (more than one scan), provide it later by jpegs_decoder_input. OK
   or NO_MEMORY. */
int32_t jpegs_decoder_read(jpegs_decoder *d, jpegs_read read, void *context, size_t room);

/* Reads up to the first scan. OK, NEEDS_INPUT or an error. */
int32_t jpegs_decoder_header(jpegs_decoder *d, jpegs_info *info);

/* Makes the library read only those scans of a progressive image that affect its output at scale/8. Call it at most
   once, between header and start, with a complete input. Stores the number of scans, and returns 1 if some are skipped:
   the coefficients then serve no other scale. */
int32_t jpegs_decoder_skim(jpegs_decoder *d, uint32_t format, uint32_t scale, uint32_t *scans);

/* Begins with the output scaled to scale/8, scale 1 ... 8. Returns the size of the following rows; for an image of
   several scans, the size of the current pass. OK, NEEDS_INPUT or an error. */
int32_t jpegs_decoder_start(jpegs_decoder *d, uint32_t format, uint32_t scale, uint32_t *width, uint32_t *height);

/* ---- multi-scan images: read scans, show them in passes ---- */

/* The header of a scan, ITU-T T.81 B.2.3. */
typedef struct jpegs_scan {
    uint32_t number;      /* from 1                                                      */
    uint32_t components;  /* one bit for each, by its position in the frame header       */
    uint32_t first, last; /* coefficients in zigzag order: Ss, Se                        */
    uint32_t high, low;   /* bits of earlier scans, bits still missing: Ah, Al */
    uint64_t offset;      /* position of its data in the file                            */
} jpegs_scan;

/* Reads some rows of blocks; stops at the start of a scan. OK: all scans are in. MORE, NEEDS_INPUT or an error. */
int32_t jpegs_decoder_absorb(jpegs_decoder *d);
/* The scan that is being read. */
void    jpegs_decoder_scan(const jpegs_decoder *d, jpegs_scan *scan);

#define JPEGS_BEST   ((uint32_t)0) /* the library's full quality: smooth chroma; once all scans are in     */
#define JPEGS_PLAIN  ((uint32_t)1) /* chroma samples are repeated                                            */
#define JPEGS_QUICK  ((uint32_t)3) /* like PLAIN, with the library's fast, inexact transform                 */
#define JPEGS_COARSE ((uint32_t)2) /* only the means of 8 x 8 blocks, at full size, interpolated; scale 8 */

/* Begin and end the output of the scans read so far; any number of times, each in another format and scale. */
int32_t jpegs_decoder_begin_pass(jpegs_decoder *d, uint32_t format, uint32_t scale, uint32_t quality,
                                 uint32_t *width, uint32_t *height);
int32_t jpegs_decoder_end_pass(jpegs_decoder *d);

/* ---- rewriting coefficients ---- */

typedef struct jpegs_watch {
    int32_t (*poll)(void *context); /* called for each row of MCUs; 0: continue */
    void     *context;
    uint32_t  most_scans;           /* 0: any number                          */
} jpegs_watch;

/* The kept part of the stored image, in pixels, and its transform: columns and rows are reversed, then exchanged. If
   columns are reversed, the right edge must be an edge of units, else the left one; likewise for rows. */
typedef struct jpegs_cut {
    uint32_t x, y, width, height;
    uint32_t mirrored, flipped, transposed;
} jpegs_cut;

/* Reads every coefficient of a complete input. Call it once, after the header and instead of start. OK or an error;
   TRUNCATED and CORRUPT also where a decoder would continue with a warning, UNSUPPORTED if scans omit bits. */
int32_t jpegs_decoder_coefficients(jpegs_decoder *d, const jpegs_watch *watch);

/* Crops and transforms the coefficients. Call it at most once. OK, STOPPED or NO_MEMORY. */
int32_t jpegs_decoder_turn(jpegs_decoder *d, const jpegs_cut *cut);

/* Counts the bytes of the coefficients in one scan with the best Huffman codes, and of their tables, to a thousandth.
   OK, STOPPED or NO_MEMORY. */
int32_t jpegs_decoder_measure(jpegs_decoder *d, uint64_t *bytes);

/* ---- rows of a pass, or of an image of one scan ---- */

/* Writes up to `count` rows from row `*row` on and advances it; row `top` goes to `pixels`. OK: all rows are written.
   NEEDS_INPUT, TRUNCATED (*row = number of complete rows) or an error. */
int32_t jpegs_decoder_rows(jpegs_decoder *d, uint8_t *pixels, size_t stride, uint32_t top, uint32_t *row,
                           uint32_t count);

/* ---- a part of a pass, or of an image of one scan ---- */

/* The part, in pixels of the output. */
typedef struct jpegs_part {
    uint32_t x, y, width, height;
} jpegs_part;

/* Limits output to a part of the rows, which equal those of the whole image exactly. Call it before any row is read,
   after start or begin_pass, with a complete input. An image of one scan then has no other rows. OK or an error. */
int32_t jpegs_decoder_part(jpegs_decoder *d, const jpegs_part *part);

/* Skips some rows above the part, or writes some of its rows from `*row` on and advances it; row 0 of the part goes to
   `pixels`. MORE, OK: all rows are written. TRUNCATED (*row = number of complete rows) or an error. */
int32_t jpegs_decoder_part_rows(jpegs_decoder *d, uint8_t *pixels, size_t stride, uint32_t *row);

/* 1: the input ended early and a part of the image is missing. */
int32_t jpegs_decoder_is_truncated(const jpegs_decoder *d);

/* The last error, or the first warning; valid until the next call. */
const char *jpegs_decoder_message(const jpegs_decoder *d);
const char *jpegs_decoder_warning(const jpegs_decoder *d);
uint32_t    jpegs_decoder_warning_count(const jpegs_decoder *d);

/* ---- encoding ---- */

typedef struct jpegs_encoder jpegs_encoder;

typedef struct jpegs_callbacks {
    void    *context;
    int32_t (*write)(void *context, const uint8_t *bytes, size_t count); /* 0: continue */
    int32_t (*poll)(void *context);                                      /* 0: continue */
} jpegs_callbacks;

typedef struct jpegs_settings {
    uint32_t width, height;
    uint32_t format;                   /* JPEGS_...; the fourth byte of RGBA and BGRA is ignored       */
    uint32_t quality;                  /* 0 ... 100                                                    */
    uint32_t horizontal, vertical;     /* luma samples per chroma sample, 1 or 2                       */
    uint32_t progressive, optimize, arithmetic;
    uint32_t density_unit, density_x, density_y;
} jpegs_settings;

jpegs_encoder *jpegs_encoder_new(const jpegs_callbacks *callbacks);
void           jpegs_encoder_free(jpegs_encoder *e);
int32_t        jpegs_encoder_start(jpegs_encoder *e, const jpegs_settings *settings);
int32_t        jpegs_encoder_marker(jpegs_encoder *e, uint32_t marker, const uint8_t *bytes, uint32_t count);
int32_t        jpegs_encoder_icc(jpegs_encoder *e, const uint8_t *bytes, uint32_t count);
int32_t        jpegs_encoder_rows(jpegs_encoder *e, const uint8_t *pixels, size_t stride, uint32_t count);
int32_t        jpegs_encoder_finish(jpegs_encoder *e);

#define JPEGS_AS_IT_IS    ((uint32_t)0) /* sequential or progressive, with restart markers: as the file is */
#define JPEGS_SEQUENTIAL  ((uint32_t)1)
#define JPEGS_PROGRESSIVE ((uint32_t)2)

/* Begins a file with the transformed coefficients of a decoder, instead of start and rows. Omits its metadata,
   including the JFIF and Adobe markers. Uses the best Huffman codes; arithmetic coding stays. */
int32_t        jpegs_encoder_coefficients(jpegs_encoder *e, jpegs_decoder *d, uint32_t process);
const char    *jpegs_encoder_message(const jpegs_encoder *e);

#endif
