/*
 * avif_shim.h - libavif for Swift: opaque objects, fixed-width types, no macros and no exceptions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef AVIF_SHIM_H
#define AVIF_SHIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a call, as far as the codec distinguishes results. */
static const int32_t avif_shim_ok = 0;
static const int32_t avif_shim_waiting = 1;     /* bytes are missing that may still come             */
static const int32_t avif_shim_truncated = 2;   /* bytes are missing for good                        */
static const int32_t avif_shim_corrupt = 3;
static const int32_t avif_shim_unsupported = 4; /* well-formed for libavif, but not supported */
static const int32_t avif_shim_not_mine = 5;
static const int32_t avif_shim_memory = 6;
static const int32_t avif_shim_pixel_limit = 7;
static const int32_t avif_shim_frame_limit = 8;
static const int32_t avif_shim_memory_limit = 9; /* exceeds the limit of avif_shim_allow            */
static const int32_t avif_shim_stopped = 10;     /* `poll` requested a stop                         */
static const int32_t avif_shim_mismatch = 11;    /* a tile does not fit the others                   */

/* libavif's error message. */
typedef struct avif_shim_error {
    int32_t  code;
    char     message[192];
    uint64_t allowed, requested;   /* bytes, with avif_shim_memory_limit                  */
} avif_shim_error;

/* MARK: decoding */

typedef struct avif_shim_decoder avif_shim_decoder;

/* The facts of the image, from the boxes alone. */
typedef struct avif_shim_facts {
    uint32_t width, height;        /* as stored, before any transform                     */
    uint32_t depth;                /* bits of one sample: 8, 10 or 12                     */
    uint32_t frames;
    uint16_t chroma;               /* 400, 420, 422 or 444                                */
    uint8_t  full_range;
    uint8_t  has_alpha, premultiplied;
    uint8_t  turns;                /* counterclockwise quarter turns */
    uint8_t  mirror;               /* 0 none, 1 top and bottom change, 2 left and right   */
    uint8_t  has_clap;
    uint16_t primaries, transfer, matrix;
    uint32_t clap[8];              /* numerator, denominator: width, height, x, y offsets */
    uint64_t icc_count;
} avif_shim_facts;

/* Called before each image of an AV1 stream; any result except 0 ends the call with avif_shim_stopped. */
typedef int32_t (*avif_shim_poll)(void *context);

/* Makes a decoder for at most `max_frames` frames (0: libavif's own limit). */
int32_t avif_shim_open(uint32_t max_frames, uint32_t threads, uint8_t wants_metadata, avif_shim_poll poll,
                       void *context, avif_shim_decoder **decoder, avif_shim_error *error);

/* Sets the limit of bytes in use by libavif and the images of dav1d; unlimited before the first call. */
void avif_shim_allow(avif_shim_decoder *decoder, uint64_t bytes);

/* Passes the available bytes to the decoder; they keep their address until close. */
void avif_shim_feed(avif_shim_decoder *decoder, const uint8_t *bytes, uint64_t count, uint8_t is_complete);

/* Puts bytes in front of the file; before parse. They are copied. */
int32_t avif_shim_prefix(avif_shim_decoder *decoder, const uint8_t *bytes, uint64_t count);

/* Makes libavif skip boxes: `places` are the positions of their types in the file. They replace earlier ones. */
int32_t avif_shim_hide(avif_shim_decoder *decoder, const uint64_t *places, uint32_t count);

/* Reads the boxes; after avif_shim_waiting it may be called again. */
int32_t avif_shim_parse(avif_shim_decoder *decoder, avif_shim_facts *facts, avif_shim_error *error);

/* Makes libavif refuse images and streams with more pixels than this; before parse or restart. */
void avif_shim_limit(avif_shim_decoder *decoder, uint32_t max_pixels);

/* Restarts with the first frame. */
int32_t avif_shim_restart(avif_shim_decoder *decoder, avif_shim_error *error);

uint8_t avif_shim_is_key(const avif_shim_decoder *decoder, uint32_t frame);
uint32_t avif_shim_nearest_key(const avif_shim_decoder *decoder, uint32_t frame);

/* Returns the end of the file bytes that decoding this frame needs, from its key frame on. */
int32_t avif_shim_end(const avif_shim_decoder *decoder, uint32_t frame, uint64_t *end);

/* Decodes a frame and the frames that it depends on; `decoded` receives the facts that convert uses. */
int32_t avif_shim_frame(avif_shim_decoder *decoder, uint32_t frame, avif_shim_facts *decoded, avif_shim_error *error);

/* A blob: 1 Exif, 2 XMP, 3 ICC; NULL if there is none. It lives as long as the decoder. */
const uint8_t *avif_shim_blob(const avif_shim_decoder *decoder, uint32_t kind, uint64_t *count);

/* Frees everything; NULL is fine. */
void avif_shim_close(avif_shim_decoder *decoder);

/* MARK: planes */

/* The samples of an image. */
typedef struct avif_shim_planes avif_shim_planes;

/* Returns the samples of the frame decoded last; they live until the next frame is decoded, or until close. */
const avif_shim_planes *avif_shim_decoded(const avif_shim_decoder *decoder);

/* A part of an image that is joined from tiles. */
typedef struct avif_shim_canvas avif_shim_canvas;

/* Makes a canvas of zeros for `width` x `height` samples from x, y on; x and y are even where colors are halved.
   `model` has read the boxes of the whole image; the kind of the samples comes from there. */
int32_t avif_shim_canvas_new(const avif_shim_decoder *model, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                             uint8_t has_alpha, avif_shim_canvas **canvas);

/* Copies the decoded frame of `tile` to x, y of the whole image, clipped to the canvas. With `is_alpha`, its luma
   becomes the alpha channel. Several threads may copy tiles that do not overlap. Returns avif_shim_mismatch if the tile
   has other samples than the canvas or than earlier tiles. */
int32_t avif_shim_canvas_put(avif_shim_canvas *canvas, const avif_shim_decoder *tile, uint32_t x, uint32_t y,
                             uint8_t is_alpha);

const avif_shim_planes *avif_shim_canvas_planes(const avif_shim_canvas *canvas);

/* NULL is fine. */
void avif_shim_canvas_free(avif_shim_canvas *canvas);

/* The layout of the written pixels. */
typedef struct avif_shim_layout {
    uint8_t  channels;             /* 1 gray, 2 gray alpha, 3 RGB, 4 RGBA, 5 BGRA         */
    uint8_t  bits;                 /* 8 or 16                                             */
    uint8_t  turns, mirror;        /* as in the facts                                     */
    uint32_t x, y, width, height;  /* the part of the planes to show                      */
} avif_shim_layout;

/* Whether convert supports the colors of the samples. */
uint8_t avif_shim_knows_colors(const avif_shim_planes *planes);

/* Converts rows first ..< end into the image that begins at `pixels`. Every `first` except 0 is odd. Every `end` except
   the number of rows is odd, too: in 4:2:0 an odd row and the even row behind it share a row of colors. Several threads
   may convert rows that do not overlap. */
int32_t avif_shim_convert(const avif_shim_planes *planes, uint32_t first, uint32_t end, const avif_shim_layout *layout,
                          uint8_t *pixels, uint64_t stride);

/* MARK: encoding */

typedef struct avif_shim_encoder avif_shim_encoder;

typedef struct avif_shim_settings {
    uint8_t  lossless;
    uint8_t  quality;              /* 0 ... 100                                           */
    uint8_t  effort;               /* 0 ... 9                                             */
    uint8_t  depth;                /* bits of one coded sample                            */
    uint8_t  is_single;            /* one image, known beforehand                       */
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

/* Converts and codes a frame; aom may delay its output. */
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
