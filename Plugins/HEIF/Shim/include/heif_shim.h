/*
 * heif_shim.h - libheif as Swift sees it: opaque objects, fixed-width types, no macros and no exceptions.
 *
 * libheif is written in C++ and its C functions let std::bad_alloc out; every function here catches it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HEIF_SHIM_H
#define HEIF_SHIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What libheif said: heif_error_code, heif_suberror_code and its sentence. A code of 0 is success. */
typedef struct heif_shim_error {
    int32_t code, subcode;
    char    message[192];
} heif_shim_error;

/* The codes of heif_error_code and heif_suberror_code that the codec tells apart. */
static const int32_t heif_shim_code_invalid_input = 2;
static const int32_t heif_shim_code_unsupported_filetype = 3;
static const int32_t heif_shim_code_unsupported_feature = 4;
static const int32_t heif_shim_code_memory = 6;
static const int32_t heif_shim_code_decoder = 7;
static const int32_t heif_shim_code_stopped = -1; /* `poll` answered that the caller wants to stop: none of libheif's */
static const int32_t heif_shim_code_end_of_data = 100;
static const int32_t heif_shim_code_security_limit = 1000;

/* MARK: decoding */

typedef struct heif_shim_decoder heif_shim_decoder;

/* A decoded picture: planes of whole samples, not yet interleaved. */
typedef struct heif_shim_picture {
    uint32_t width, height;
    uint8_t  is_gray;
    uint8_t  depth;          /* bits of one colour sample                              */
    uint8_t  alpha_depth;    /* bits of one alpha sample; 0 = no alpha                 */
    uint8_t  has_range;      /* whether `full_range` was stored anywhere               */
    uint8_t  full_range;
    uint8_t  skipped_crop;   /* the clean aperture was nonsense and was left out       */
    uint8_t  is_uncovered;   /* the coded data left out blocks, which are grey         */
    char     warning[96];    /* what the decoder of HEVC warned of first, or empty     */
} heif_shim_picture;

/* How paint writes one pixel. */
typedef struct heif_shim_layout {
    uint8_t  channels;       /* 1 gray, 2 gray alpha, 3 RGB, 4 RGBA, 5 BGRA            */
    uint8_t  bits;           /* 8 or 16                                                */
    uint8_t  expand_range;   /* luma of a gray picture is 16 ... 235 of 255            */
    uint8_t  only_alpha;     /* the brightness of a gray image becomes alpha;  nothing else changes */
} heif_shim_layout;

/* Asked before each unit of HEVC and each image of AV1; any answer but 0 ends the call with heif_shim_code_stopped. */
typedef int32_t (*heif_shim_poll)(void *context);

/* Reads the boxes in `prefix`, which is copied; libheif sees `bytes` behind it, which stay where they are until close. */
int32_t heif_shim_open(const uint8_t *bytes, uint64_t count, const uint8_t *prefix, uint64_t prefix_count,
                       uint32_t max_side, uint32_t threads, uint64_t max_pixels, heif_shim_decoder **decoder,
                       heif_shim_error *error);

/* Decodes the primary image into planes.
   `own_colors`: the picture is one AV1 stream, whose colours need not be converted by libheif.
   `may_skip_crop`: an impossible clean aperture is no reason to show nothing. */
int32_t heif_shim_decode(heif_shim_decoder *decoder, uint8_t as_gray, uint8_t own_colors, uint8_t may_skip_crop,
                         heif_shim_poll poll, void *context, heif_shim_picture *picture,
                         heif_shim_error *error);

/* Interleaves a part of the decoded image. Its first pixel goes to `pixels`, one to the right of it `right` bytes on,
   one in the next row `down` bytes on. */
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

/* Copies the pixels into planes and codes them, with the thumbnail: the one that is given, or one that libheif makes
   where that is NULL and the settings ask for it. */
int32_t heif_shim_encode(heif_shim_encoder *encoder, const heif_shim_pixels *pixels, const heif_shim_pixels *thumbnail,
                         const uint8_t *icc, uint64_t icc_count, heif_shim_error *error);

int32_t heif_shim_add_exif(heif_shim_encoder *encoder, const uint8_t *bytes, uint64_t count,
                           heif_shim_error *error);
int32_t heif_shim_add_xmp(heif_shim_encoder *encoder, const uint8_t *bytes, uint64_t count,
                          heif_shim_error *error);

/* Hands the file to `write`, which answers 0 to go on. */
int32_t heif_shim_write(heif_shim_encoder *encoder, void *context,
                        int32_t (*write)(void *context, const uint8_t *bytes, uint64_t count),
                        heif_shim_error *error);

void heif_shim_encoder_free(heif_shim_encoder *encoder);

#ifdef __cplusplus
}
#endif
#endif
