/*
 * webp_shim.h - libwebp, its demuxer and its muxer without their version macros and unions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WEBP_SHIM_H
#define WEBP_SHIM_H

#include <stddef.h>
#include <stdint.h>

#define WEBPS_OK           ((int32_t)0)
#define WEBPS_NEEDS_INPUT  ((int32_t)1)
#define WEBPS_CORRUPT      ((int32_t)-1)
#define WEBPS_UNSUPPORTED  ((int32_t)-2)
#define WEBPS_NO_MEMORY    ((int32_t)-3)
#define WEBPS_MISUSE       ((int32_t)-4)
#define WEBPS_INVALID      ((int32_t)-5) /* a setting or a size has no legal value                       */
#define WEBPS_TOO_COMPLEX  ((int32_t)-6) /* a partition exceeds 512 KiB                                  */
#define WEBPS_TOO_LARGE    ((int32_t)-7) /* the file would exceed 4 GiB                                  */
#define WEBPS_STOPPED      ((int32_t)-8) /* a callback returned another value than 0                     */

#define WEBPS_RGB                ((uint32_t)1)
#define WEBPS_RGBA               ((uint32_t)2)
#define WEBPS_BGRA               ((uint32_t)3)
#define WEBPS_RGBA_PREMULTIPLIED ((uint32_t)4) /* decoding only */
#define WEBPS_BGRA_PREMULTIPLIED ((uint32_t)5) /* decoding only */
#define WEBPS_RGBX               ((uint32_t)6) /* encoding only: the fourth byte is ignored */
#define WEBPS_BGRX               ((uint32_t)7) /* encoding only */

/* ---- the container ---- */

typedef struct webps_features {
    uint32_t width, height; /* of the canvas */
    uint32_t has_alpha;
    uint32_t has_animation;
    uint32_t is_lossless;
} webps_features;

typedef struct webps_frame {
    uint32_t x, y, width, height; /* on the canvas                                     */
    uint32_t has_alpha;
    uint32_t is_complete;
    uint64_t offset, size;        /* of its chunks in the bytes                        */
} webps_frame;

/* OK, NEEDS_INPUT or an error. */
int32_t webps_read_features(const uint8_t *bytes, size_t count, webps_features *features);

/* Finds the first frame of an animation: OK, NEEDS_INPUT or CORRUPT. */
int32_t webps_first_frame(const uint8_t *bytes, size_t count, webps_frame *frame);

/* Finds the first chunk of a kind: 1 if it is complete, else 0. */
int32_t webps_find_chunk(const uint8_t *bytes, size_t count, const char *fourcc, uint64_t *offset, uint64_t *size);

/* ---- decoding ---- */

typedef struct webps_decoder webps_decoder;

/* Decodes into `pixels`, which outlives the decoder. Scales the image to width x height if `scales` is set; otherwise
   the image has that size. NULL without memory. */
webps_decoder *webps_decoder_new(uint32_t format, uint8_t *pixels, size_t stride, uint32_t width, uint32_t height,
                                 int32_t scales, int32_t threads);
void           webps_decoder_free(webps_decoder *d);

/* The part, in pixels of the image. */
typedef struct webps_part {
    uint32_t x, y, width, height;
} webps_part;

/* Decodes a part of an image into `pixels`, which has the size of the part and outlives the decoder. For lossy data the
   part begins at even coordinates, and its edge pixels differ from those of the whole image: their neighbors are not
   used. NULL without memory. */
webps_decoder *webps_decoder_new_part(uint32_t format, uint8_t *pixels, size_t stride, const webps_part *part,
                                      int32_t threads);

/* A reduction, in pixels: every side becomes at most half as long, rounded up. */
typedef struct webps_reduction {
    uint32_t format;
    uint32_t width, height, source_width, source_height;
    uint8_t *pixels;
    size_t   stride;
} webps_reduction;

/* Reduces lossy data without alpha; each pixel is the mean of those that it covers. Takes up to three bytes for two
   pixels of the source. NULL without memory. */
webps_decoder *webps_decoder_new_reduced(const webps_reduction *wanted, int32_t threads);

/* Continues with all bytes so far, which may have moved, and stores the number of written rows. OK: complete.
   NEEDS_INPUT or an error. */
int32_t webps_decoder_update(webps_decoder *d, const uint8_t *bytes, size_t count, uint32_t *rows);

/* Sets alpha to its maximum in `rows` rows of four bytes per pixel. */
void webps_make_opaque(uint8_t *pixels, size_t stride, uint32_t width, uint32_t rows);

/* Decodes a whole image of width x height into `pixels` in one go: OK or an error. */
int32_t webps_decode(const uint8_t *bytes, size_t count, uint32_t format, uint8_t *pixels, size_t stride,
                     uint32_t width, uint32_t height);

/* Tells the allocator that blocks of this size are allocated and freed repeatedly. */
void webps_expect(size_t bytes);

/* ---- encoding ---- */

typedef struct webps_encoder webps_encoder;

typedef struct webps_callbacks {
    void    *context;
    int32_t (*write)(void *context, const uint8_t *bytes, size_t count); /* 0: continue               */
    int32_t (*progress)(void *context, int32_t percent);                 /* 0: continue               */
} webps_callbacks;

/* The members of WebPConfig, in the order of that struct. */
#define WEBPS_LOSSLESS          ((uint32_t)0)
#define WEBPS_QUALITY           ((uint32_t)1)
#define WEBPS_METHOD            ((uint32_t)2)
#define WEBPS_TARGET_SIZE       ((uint32_t)3)
#define WEBPS_TARGET_PSNR       ((uint32_t)4)
#define WEBPS_SEGMENTS          ((uint32_t)5)
#define WEBPS_SNS_STRENGTH      ((uint32_t)6)
#define WEBPS_FILTER_STRENGTH   ((uint32_t)7)
#define WEBPS_FILTER_SHARPNESS  ((uint32_t)8)
#define WEBPS_FILTER_TYPE       ((uint32_t)9)
#define WEBPS_AUTOFILTER        ((uint32_t)10)
#define WEBPS_ALPHA_COMPRESSION ((uint32_t)11)
#define WEBPS_ALPHA_FILTERING   ((uint32_t)12)
#define WEBPS_ALPHA_QUALITY     ((uint32_t)13)
#define WEBPS_PASS              ((uint32_t)14)
#define WEBPS_SHOW_COMPRESSED   ((uint32_t)15)
#define WEBPS_PREPROCESSING     ((uint32_t)16)
#define WEBPS_PARTITIONS        ((uint32_t)17)
#define WEBPS_PARTITION_LIMIT   ((uint32_t)18)
#define WEBPS_THREAD_LEVEL      ((uint32_t)19)
#define WEBPS_LOW_MEMORY        ((uint32_t)20)
#define WEBPS_NEAR_LOSSLESS     ((uint32_t)21)
#define WEBPS_EXACT             ((uint32_t)22)
#define WEBPS_USE_SHARP_YUV     ((uint32_t)23)

/* Makes an encoder with libwebp's defaults; NULL without memory. */
webps_encoder *webps_encoder_new(const webps_callbacks *callbacks);
void           webps_encoder_free(webps_encoder *e);

/* Changes and reads a member of the encoder's WebPConfig. */
void   webps_encoder_set(webps_encoder *e, uint32_t knob, double value);
double webps_encoder_get(const webps_encoder *e, uint32_t knob);

/* Returns 1 if WebPConfig has only legal values. */
int32_t webps_encoder_is_valid(const webps_encoder *e);

/* Adds a chunk ("ICCP", "EXIF" or "XMP ") to be written with the image; copies it. */
int32_t webps_encoder_chunk(webps_encoder *e, const char *fourcc, const uint8_t *bytes, size_t count);

/* Encodes and writes the whole file. */
int32_t webps_encoder_encode(webps_encoder *e, uint32_t format, const uint8_t *pixels, size_t stride, uint32_t width,
                             uint32_t height);

/* Encodes 0xAARRGGBB pixels, `stride` of them per row, and writes them as a file without metadata. May change fully
   transparent pixels. */
int32_t webps_encoder_encode_argb(webps_encoder *e, uint32_t *pixels, uint32_t stride, uint32_t width,
                                  uint32_t height);

#endif
