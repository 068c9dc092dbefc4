/*
 * jpeg_shim.h - libjpeg-turbo behind calls that return a status.
 *
 * The library leaves a failed call by longjmp. Every function here is one setjmp frame, so nothing ever jumps across
 * a frame of the caller; callbacks return to C before C jumps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef JPEG_SHIM_H
#define JPEG_SHIM_H

#include <stddef.h>
#include <stdint.h>

#define JPEGS_OK           ((int32_t)0)
#define JPEGS_NEEDS_INPUT  ((int32_t)1)  /* suspended: lend more bytes and call again                    */
#define JPEGS_MORE         ((int32_t)2)  /* a slice of the work is done: call again                      */
#define JPEGS_NOT_MINE     ((int32_t)-1)
#define JPEGS_UNSUPPORTED  ((int32_t)-2) /* valid JPEG, but this build of the library does not read it   */
#define JPEGS_CORRUPT      ((int32_t)-3)
#define JPEGS_NO_MEMORY    ((int32_t)-4)
#define JPEGS_TRUNCATED    ((int32_t)-5) /* the complete input ends within the image                     */
#define JPEGS_STOPPED      ((int32_t)-6) /* a callback answered other than 0                             */
#define JPEGS_SCANS        ((int32_t)-7) /* there are more scans than allowed                            */

/* Pixels as the surface has them. CMYK: 0 = no ink. */
#define JPEGS_GRAY  ((uint32_t)1)
#define JPEGS_RGB   ((uint32_t)2)
#define JPEGS_RGBA  ((uint32_t)3)
#define JPEGS_BGRA  ((uint32_t)4)
#define JPEGS_CMYK  ((uint32_t)5)

/* Bytes before the next marker that is no part of compressed data, C0 ... FE but for D0 ... D7. Where there is none:
   all of them, but for an FF at the end. */
size_t jpegs_before_marker(const uint8_t *bytes, size_t count);

/* ---- decoding ---- */

typedef struct jpegs_decoder jpegs_decoder;

typedef struct jpegs_info {
    uint32_t width, height;
    uint32_t components;
    uint32_t color;             /* JPEGS_GRAY, JPEGS_RGB or JPEGS_CMYK; 0 = none of them          */
    uint32_t multi_scan;        /* 1: all coefficients are kept in memory until the last scan     */
    uint32_t arithmetic;        /* 1: decodes only from a complete input, the library cannot suspend */
    uint32_t has_jfif;
    uint32_t density_unit;      /* JFIF: 0 aspect, 1 per inch, 2 per centimetre                   */
    uint32_t density_x, density_y;
    uint64_t coefficient_bytes; /* memory that all coefficients take                              */
    uint32_t unit_width, unit_height; /* pixels between two edges where every component has edges of blocks */
} jpegs_info;

/* NULL without memory. */
jpegs_decoder *jpegs_decoder_new(void);
void           jpegs_decoder_free(jpegs_decoder *d);

/* Lends bytes from the start of the file, which ends a window; `bytes` may move between calls, what it holds may not change. */
void jpegs_decoder_input(jpegs_decoder *d, const uint8_t *bytes, size_t available, int32_t complete);

/* Copies up to `count` bytes from `offset` of the file, and answers how many; fewer only where they end. */
typedef size_t (*jpegs_read)(void *context, uint64_t offset, uint8_t *bytes, size_t count);

/* Has the library read a complete file itself, through a window of `room` bytes. Legal once, before anything else;
   what needs the file as a whole (more than one scan) must be lent it later, by jpegs_decoder_input. OK or NO_MEMORY. */
int32_t jpegs_decoder_read(jpegs_decoder *d, jpegs_read read, void *context, size_t room);

/* Reads up to the first scan. OK, NEEDS_INPUT or an error. */
int32_t jpegs_decoder_header(jpegs_decoder *d, jpegs_info *info);

/* Has the library read only those scans of a progressive image that have a say in its output at scale/8. Legal once,
   between header and start, where the input is complete. Says how many scans there are, and answers 1 where some are
   left out: the coefficients then serve no other scale. */
int32_t jpegs_decoder_skim(jpegs_decoder *d, uint32_t format, uint32_t scale, uint32_t *scans);

/* Begins with the output scaled to scale/8, scale 1 ... 8. Returns the size of the rows that follow: of an image of several
   scans the size of the current pass. OK, NEEDS_INPUT or an error. */
int32_t jpegs_decoder_start(jpegs_decoder *d, uint32_t format, uint32_t scale, uint32_t *width, uint32_t *height);

/* ---- multi-scan images: absorb scans, show what there is in passes ---- */

/* The header of a scan, ITU-T T.81 B.2.3. */
typedef struct jpegs_scan {
    uint32_t number;      /* from 1                                                      */
    uint32_t components;  /* one bit for each, by its place in the frame header          */
    uint32_t first, last; /* coefficients in zigzag order: Ss, Se                        */
    uint32_t high, low;   /* bits that were there before, bits that stay missing: Ah, Al */
    uint64_t offset;      /* where its data begins in the file                           */
} jpegs_scan;

/* Takes in some rows of blocks; stops where a scan begins. OK: all scans are in. MORE, NEEDS_INPUT or an error. */
int32_t jpegs_decoder_absorb(jpegs_decoder *d);
/* The scan that is being absorbed. */
void    jpegs_decoder_scan(const jpegs_decoder *d, jpegs_scan *scan);

#define JPEGS_BEST   ((uint32_t)0) /* as the library shows an image: smooth chroma; once all scans are in  */
#define JPEGS_PLAIN  ((uint32_t)1) /* chroma samples are repeated                                            */
#define JPEGS_QUICK  ((uint32_t)3) /* the same with the library's fast and rough transform                   */
#define JPEGS_COARSE ((uint32_t)2) /* only the means of 8 x 8 blocks, at full size, joined smoothly; scale 8 */

/* Bracket the output of what was absorbed so far, as often as wanted, each time in another format and scale. */
int32_t jpegs_decoder_begin_pass(jpegs_decoder *d, uint32_t format, uint32_t scale, uint32_t quality,
                                 uint32_t *width, uint32_t *height);
int32_t jpegs_decoder_end_pass(jpegs_decoder *d);

/* ---- coefficients that are written again ---- */

typedef struct jpegs_watch {
    int32_t (*poll)(void *context); /* asked for each row of MCUs; 0: goes on */
    void     *context;
    uint32_t  most_scans;           /* 0: any number                          */
} jpegs_watch;

/* What is kept of the stored image, in pixels, and how it is turned: columns and rows are reversed, then exchanged.
   Where columns are reversed the right edge stands at an edge of units, else the left one; likewise of rows. */
typedef struct jpegs_cut {
    uint32_t x, y, width, height;
    uint32_t mirrored, flipped, transposed;
} jpegs_cut;

/* Reads every coefficient of a complete input. Legal once, behind the header and instead of start. OK or an error;
   TRUNCATED and CORRUPT also where a decoder would go on with a warning, UNSUPPORTED where scans leave out bits. */
int32_t jpegs_decoder_coefficients(jpegs_decoder *d, const jpegs_watch *watch);

/* Cuts and turns the coefficients. Legal once. OK, STOPPED or NO_MEMORY. */
int32_t jpegs_decoder_turn(jpegs_decoder *d, const jpegs_cut *cut);

/* Counts what they take in one scan with the best Huffman codes and their tables, to a thousandth. OK, STOPPED or
   NO_MEMORY. */
int32_t jpegs_decoder_measure(jpegs_decoder *d, uint64_t *bytes);

/* ---- rows of a pass, or of an image of one scan ---- */

/* Writes up to `count` rows from row `*row` on and advances it; `pixels` is where row `top` goes. OK: all of them.
   NEEDS_INPUT, TRUNCATED (*row = rows that are whole) or an error. */
int32_t jpegs_decoder_rows(jpegs_decoder *d, uint8_t *pixels, size_t stride, uint32_t top, uint32_t *row,
                           uint32_t count);

/* ---- a part of a pass, or of an image of one scan ---- */

/* In pixels of the output. */
typedef struct jpegs_part {
    uint32_t x, y, width, height;
} jpegs_part;

/* Has only a part of the rows written, which are to the bit those of the whole. Legal where no row was read, behind
   start or begin_pass, of a complete input. An image of one scan gives no other rows from then on. OK or an error. */
int32_t jpegs_decoder_part(jpegs_decoder *d, const jpegs_part *part);

/* Steps over some rows above the part, or writes some of its rows from `*row` on and advances it; `pixels` is where its
   row 0 goes. MORE, OK: all of them. TRUNCATED (*row = rows that are whole) or an error. */
int32_t jpegs_decoder_part_rows(jpegs_decoder *d, uint8_t *pixels, size_t stride, uint32_t *row);

/* 1: the input ended early and something of the image is missing. */
int32_t jpegs_decoder_is_truncated(const jpegs_decoder *d);

/* The last error, or the first warning; valid until the next call. */
const char *jpegs_decoder_message(const jpegs_decoder *d);
const char *jpegs_decoder_warning(const jpegs_decoder *d);
uint32_t    jpegs_decoder_warning_count(const jpegs_decoder *d);

/* ---- encoding ---- */

typedef struct jpegs_encoder jpegs_encoder;

typedef struct jpegs_callbacks {
    void    *context;
    int32_t (*write)(void *context, const uint8_t *bytes, size_t count); /* 0: goes on */
    int32_t (*poll)(void *context);                                      /* 0: goes on */
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

/* Begins a file with the coefficients of a decoder, which has turned them, instead of start and rows. Its metadata is
   left out, also the markers of JFIF and Adobe. Huffman codes are the best ones, arithmetic coding stays. */
int32_t        jpegs_encoder_coefficients(jpegs_encoder *e, jpegs_decoder *d, uint32_t process);
const char    *jpegs_encoder_message(const jpegs_encoder *e);

#endif
