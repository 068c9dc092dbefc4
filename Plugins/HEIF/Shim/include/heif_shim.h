/*
 * heif_shim.h - libheif for Swift: opaque objects, fixed-width types, no macros and no exceptions.
 *
 * libheif is written in C++ and its C functions throw std::bad_alloc; every function here catches it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HEIF_SHIM_H
#define HEIF_SHIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The error of libheif: heif_error_code, heif_suberror_code and its message. A code of 0 is success. */
typedef struct heif_shim_error {
    int32_t code, subcode;
    char    message[192];
} heif_shim_error;

/* The codes of heif_error_code and heif_suberror_code that the codec distinguishes. */
static const int32_t heif_shim_code_invalid_input = 2;
static const int32_t heif_shim_code_unsupported_filetype = 3;
static const int32_t heif_shim_code_unsupported_feature = 4;
static const int32_t heif_shim_code_memory = 6;
static const int32_t heif_shim_code_decoder = 7;
static const int32_t heif_shim_code_stopped = -1; /* `poll` requested a stop; not a code of libheif */
static const int32_t heif_shim_code_end_of_data = 100;
static const int32_t heif_shim_code_security_limit = 1000;

/* MARK: decoding */

typedef struct heif_shim_decoder heif_shim_decoder;

/* A decoded image: planes of whole samples, not yet interleaved. */
typedef struct heif_shim_planes {
    uint32_t width, height;
    uint8_t  is_gray;
    uint8_t  depth;          /* bits of one color sample                              */
    uint8_t  alpha_depth;    /* bits of one alpha sample; 0 = no alpha                 */
    uint8_t  has_range;      /* whether `full_range` was stored anywhere               */
    uint8_t  full_range;
    uint8_t  skipped_crop;   /* an invalid clean aperture was ignored */
    uint8_t  is_uncovered;   /* the coded data left out blocks, which are gray         */
    char     warning[96];    /* the first warning of the HEVC decoder, or empty */
} heif_shim_planes;

/* The layout of the pixels that paint writes. */
typedef struct heif_shim_layout {
    uint8_t  channels;       /* 1 gray, 2 gray alpha, 3 RGB, 4 RGBA, 5 BGRA            */
    uint8_t  bits;           /* 8 or 16                                                */
    uint8_t  expand_range;   /* luma of a gray image is 16 ... 235 of 255            */
    uint8_t  only_alpha;     /* the luma of a gray image becomes alpha; nothing else changes */
} heif_shim_layout;

/* Called before each unit of HEVC and each image of AV1; any result except 0 ends the call with heif_shim_code_stopped.
   */
typedef int32_t (*heif_shim_poll)(void *context);

/* Reads the boxes in `prefix`, which is copied; libheif reads `bytes` behind it, which keep their address until close.
   */
int32_t heif_shim_open(const uint8_t *bytes, uint64_t count, const uint8_t *prefix, uint64_t prefix_count,
                       uint32_t max_side, uint32_t threads, uint64_t max_pixels, heif_shim_decoder **decoder,
                       heif_shim_error *error);

/* Decodes the primary image into planes. `own_colors`: the image is one AV1 stream, whose colors libheif need not
   convert. `may_skip_crop`: ignores an invalid clean aperture instead of failing. */
int32_t heif_shim_decode(heif_shim_decoder *decoder, uint8_t as_gray, uint8_t own_colors, uint8_t may_skip_crop,
                         heif_shim_poll poll, void *context, heif_shim_planes *planes,
                         heif_shim_error *error);

/* Interleaves a part of the decoded image. Its first pixel goes to `pixels`, the pixel right of it `right` bytes
   further, and the pixel below it `down` bytes further. */
int32_t heif_shim_paint(const heif_shim_decoder *decoder, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                        heif_shim_layout layout, uint8_t *pixels, int64_t right, int64_t down);

/* Frees everything; NULL is fine. */
void heif_shim_close(heif_shim_decoder *decoder);

/* MARK: encoding */

typedef struct heif_shim_encoder heif_shim_encoder;

typedef struct heif_shim_settings {
    uint8_t  av1;            /* 1: AV1 in an AVIF file, 0: HEVC                        */
    uint8_t  lossless;
    uint8_t  quality;        /* 0 ... 100                                              */
    uint8_t  effort;         /* 0 ... 9                                                */
    uint8_t  depth;          /* bits of one coded sample                               */
    uint8_t  premultiplied;
    uint16_t chroma;         /* 420, 422 or 444                                        */
    uint16_t threads;
    uint16_t primaries, transfer, matrix; /* ITU-T H.273                               */
    uint32_t thumbnail;      /* bound of the longer side in pixels; 0 = none           */
} heif_shim_settings;

/* Pixels to encode; the layout is that of paint. */
typedef struct heif_shim_pixels {
    const uint8_t *bytes;
    uint64_t       stride;
    uint32_t       width, height;
    uint8_t        channels, bits;
} heif_shim_pixels;

int32_t heif_shim_encoder_new(const heif_shim_settings *settings, heif_shim_encoder **encoder,
                              heif_shim_error *error);

/* Copies the pixels into planes and codes them with the given thumbnail. If that is NULL, and the settings request a
   thumbnail, libheif makes one. */
int32_t heif_shim_encode(heif_shim_encoder *encoder, const heif_shim_pixels *pixels, const heif_shim_pixels *thumbnail,
                         const uint8_t *icc, uint64_t icc_count, heif_shim_error *error);

int32_t heif_shim_add_exif(heif_shim_encoder *encoder, const uint8_t *bytes, uint64_t count,
                           heif_shim_error *error);
int32_t heif_shim_add_xmp(heif_shim_encoder *encoder, const uint8_t *bytes, uint64_t count,
                          heif_shim_error *error);

/* Passes the file to `write`, which returns 0 to continue. */
int32_t heif_shim_write(heif_shim_encoder *encoder, void *context,
                        int32_t (*write)(void *context, const uint8_t *bytes, uint64_t count),
                        heif_shim_error *error);

void heif_shim_encoder_free(heif_shim_encoder *encoder);

#ifdef __cplusplus
}
#endif
#endif
