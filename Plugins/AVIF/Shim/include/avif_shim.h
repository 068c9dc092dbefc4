/*
 * avif_shim.h - libavif as Swift sees it: opaque objects, fixed-width types, no macros and no exceptions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef AVIF_SHIM_H
#define AVIF_SHIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended; the kinds that the codec tells apart. */
static const int32_t avif_shim_ok = 0;
static const int32_t avif_shim_waiting = 1;     /* bytes are missing that may still come             */
static const int32_t avif_shim_truncated = 2;   /* bytes are missing for good                        */
static const int32_t avif_shim_corrupt = 3;
static const int32_t avif_shim_unsupported = 4; /* well formed as far as libavif can tell, not served */
static const int32_t avif_shim_not_mine = 5;
static const int32_t avif_shim_memory = 6;
static const int32_t avif_shim_pixel_limit = 7;
static const int32_t avif_shim_frame_limit = 8;
static const int32_t avif_shim_memory_limit = 9; /* more than avif_shim_allow allows                 */
static const int32_t avif_shim_stopped = 10;     /* `poll` answered that the caller wants to stop    */
static const int32_t avif_shim_mismatch = 11;    /* a tile does not fit the others                   */

/* What libavif reported. */
typedef struct avif_shim_error {
    int32_t  code;
    char     message[192];
    uint64_t allowed, requested;   /* bytes, with avif_shim_memory_limit                  */
} avif_shim_error;

/* MARK: decoding */

typedef struct avif_shim_decoder avif_shim_decoder;

/* The facts of the picture, from the boxes alone. */
typedef struct avif_shim_facts {
    uint32_t width, height;        /* as stored, before any transform                     */
    uint32_t depth;                /* bits of one sample: 8, 10 or 12                     */
    uint32_t frames;
    uint16_t chroma;               /* 400, 420, 422 or 444                                */
    uint8_t  full_range;
    uint8_t  has_alpha, premultiplied;
    uint8_t  turns;                /* quarter turns against the clock                     */
    uint8_t  mirror;               /* 0 none, 1 top and bottom change, 2 left and right   */
    uint8_t  has_clap;
    uint16_t primaries, transfer, matrix;
    uint32_t clap[8];              /* numerator, denominator: width, height, x, y offsets */
    uint64_t icc_count;
} avif_shim_facts;

/* Asked before each image of an AV1 stream; any answer but 0 ends the call with avif_shim_stopped. */
typedef int32_t (*avif_shim_poll)(void *context);

/* Makes a decoder for at most `max_frames` frames (0: libavif's own limit). */
int32_t avif_shim_open(uint32_t max_frames, uint32_t threads, uint8_t wants_metadata, avif_shim_poll poll,
                       void *context, avif_shim_decoder **decoder, avif_shim_error *error);

/* Sets how many bytes libavif and the images of dav1d may take at one time; unlimited before the first call. */
void avif_shim_allow(avif_shim_decoder *decoder, uint64_t bytes);

/* Shows the decoder the bytes that are there; they stay where they are until close. */
void avif_shim_feed(avif_shim_decoder *decoder, const uint8_t *bytes, uint64_t count, uint8_t is_complete);

/* Puts bytes in front of those of the file; before parse. They are copied. */
int32_t avif_shim_prefix(avif_shim_decoder *decoder, const uint8_t *bytes, uint64_t count);

/* Reads the boxes; after avif_shim_waiting it may be called again. */
int32_t avif_shim_parse(avif_shim_decoder *decoder, avif_shim_facts *facts, avif_shim_error *error);

/* Has images and streams of more than so many pixels refused; before parse or restart. */
void avif_shim_limit(avif_shim_decoder *decoder, uint32_t max_pixels);

/* Restarts with the first frame. */
int32_t avif_shim_restart(avif_shim_decoder *decoder, avif_shim_error *error);

uint8_t avif_shim_is_key(const avif_shim_decoder *decoder, uint32_t frame);
uint32_t avif_shim_nearest_key(const avif_shim_decoder *decoder, uint32_t frame);

/* Where the last byte of the file ends that decoding this frame needs, from its key frame on. */
int32_t avif_shim_end(const avif_shim_decoder *decoder, uint32_t frame, uint64_t *end);

/* Decodes a frame, and what it needs before; `decoded` has the facts that convert works with. */
int32_t avif_shim_frame(avif_shim_decoder *decoder, uint32_t frame, avif_shim_facts *decoded, avif_shim_error *error);

/* A blob: 1 Exif, 2 XMP, 3 ICC; NULL if there is none. It lives as long as the decoder. */
const uint8_t *avif_shim_blob(const avif_shim_decoder *decoder, uint32_t kind, uint64_t *count);

/* Frees everything; NULL is fine. */
void avif_shim_close(avif_shim_decoder *decoder);

/* MARK: planes */

/* The samples of an image. */
typedef struct avif_shim_planes avif_shim_planes;

/* Those of the frame that was decoded last; they live until the next one is, or until close. */
const avif_shim_planes *avif_shim_decoded(const avif_shim_decoder *decoder);

/* A part of an image that is put together from tiles. */
typedef struct avif_shim_canvas avif_shim_canvas;

/* Makes a canvas of zeros for `width` x `height` samples from x, y on; x and y are even where colors are halved.
   `model` has read the boxes of the whole image: the kind of the samples is taken from there. */
int32_t avif_shim_canvas_new(const avif_shim_decoder *model, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                             uint8_t has_alpha, avif_shim_canvas **canvas);

/* Copies the frame that `tile` has decoded to x, y of the whole image, as far as it lies on the canvas. Its luma is the
   alpha channel where `is_alpha` is set. Several threads may put tiles that do not overlap.
   Returns avif_shim_mismatch where the tile has other samples than the canvas or than the tiles before. */
int32_t avif_shim_canvas_put(avif_shim_canvas *canvas, const avif_shim_decoder *tile, uint32_t x, uint32_t y,
                             uint8_t is_alpha);

const avif_shim_planes *avif_shim_canvas_planes(const avif_shim_canvas *canvas);

/* NULL is fine. */
void avif_shim_canvas_free(avif_shim_canvas *canvas);

/* How to write pixels. */
typedef struct avif_shim_layout {
    uint8_t  channels;             /* 1 gray, 2 gray alpha, 3 RGB, 4 RGBA, 5 BGRA         */
    uint8_t  bits;                 /* 8 or 16                                             */
    uint8_t  turns, mirror;        /* as in the facts                                     */
    uint32_t x, y, width, height;  /* the part of the planes to show                      */
} avif_shim_layout;

/* Whether convert knows the colors of the samples. */
uint8_t avif_shim_knows_colors(const avif_shim_planes *planes);

/* Converts rows first ..< end into the image that `pixels` begins. Every `first` but 0 is odd, and every `end` but that
   of the planes: 4:2:0 shares a row of colors between an odd row and the even one behind it. Several threads may
   convert rows that do not overlap. */
int32_t avif_shim_convert(const avif_shim_planes *planes, uint32_t first, uint32_t end, const avif_shim_layout *layout,
                          uint8_t *pixels, uint64_t stride);

/* MARK: encoding */

typedef struct avif_shim_encoder avif_shim_encoder;

typedef struct avif_shim_settings {
    uint8_t  lossless;
    uint8_t  quality;              /* 0 ... 100                                           */
    uint8_t  effort;               /* 0 ... 9                                             */
    uint8_t  depth;                /* bits of one coded sample                            */
    uint8_t  is_single;            /* one picture, known beforehand                       */
    uint16_t chroma;               /* 400, 420, 422 or 444                                */
    uint16_t threads;
    uint16_t primaries, transfer, matrix; /* ITU-T H.273                                  */
    uint32_t key_interval;         /* frames from key frame to key frame, 0 = up to aom   */
    uint64_t timescale;            /* units of a duration in a second                     */
} avif_shim_settings;

/* Pixels to encode. */
typedef struct avif_shim_pixels {
    const uint8_t *bytes;
    uint64_t       stride;
    uint32_t       width, height;
    uint8_t        channels, bits; /* as in the layout                                    */
    uint8_t        premultiplied;
} avif_shim_pixels;

int32_t avif_shim_encoder_new(const avif_shim_settings *settings, avif_shim_encoder **encoder,
                              avif_shim_error *error);

/* Copies a blob to embed: 1 Exif, 2 XMP, 3 ICC; all before the first frame. */
int32_t avif_shim_encoder_blob(avif_shim_encoder *encoder, uint32_t kind, const uint8_t *bytes, uint64_t count,
                               avif_shim_error *error);

/* Converts and codes a frame; aom may hold it back. */
int32_t avif_shim_encoder_add(avif_shim_encoder *encoder, const avif_shim_pixels *pixels, uint64_t duration,
                              avif_shim_error *error);

/* Makes the file, which lives as long as the encoder. `is_alone`: there was one frame, so it is a still. */
int32_t avif_shim_encoder_finish(avif_shim_encoder *encoder, uint8_t is_alone, const uint8_t **bytes, uint64_t *count,
                                 avif_shim_error *error);

void avif_shim_encoder_free(avif_shim_encoder *encoder);

#ifdef __cplusplus
}
#endif
#endif
