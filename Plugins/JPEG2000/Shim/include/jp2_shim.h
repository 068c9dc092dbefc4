/*
 * jp2_shim.h - OpenJPEG 2.5 for codestreams, with fixed-width types, for the codec in Swift.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef JP2_SHIM_H
#define JP2_SHIM_H
#include <stdint.h>

/* MARK: decoding */

/* Copies bytes from `offset` on and returns their number, which is below `count` at the end or after an error. */
typedef uint64_t (*jp2_shim_read)(void *context, uint64_t offset, uint8_t *target, uint64_t count);

/* A codestream: `bytes` if it is in memory, else `read`. */
typedef struct jp2_shim_source {
    const uint8_t *bytes;
    uint64_t       count;
    jp2_shim_read  read;
    void          *context;
} jp2_shim_source;

/* The decoded samples of one component, without padding. */
typedef struct jp2_shim_plane {
    const int32_t *samples; /* NULL if the component was not decoded                 */
    uint32_t       width, height;
    uint32_t       x, y; /* the position of the first sample, in reduced samples  */
} jp2_shim_plane;

/* A part of the reference grid: the columns left ... right - 1. */
typedef struct jp2_shim_area {
    uint32_t left, top, right, bottom;
} jp2_shim_area;

typedef struct jp2_shim_decoder jp2_shim_decoder;

static const int32_t jp2_shim_failed = 1;
static const int32_t jp2_shim_no_memory = 2;
static const int32_t jp2_shim_unsupported = 3;

/* Opens a codestream; NULL without memory. Both stay valid until the decoder is freed. */
jp2_shim_decoder *jp2_shim_decoder_new(const jp2_shim_source *source);
void              jp2_shim_decoder_free(jp2_shim_decoder *decoder);

/* Reads the main header and decodes a part, once for each decoder. Each side is divided by 2 to the power `reduction`.
   `components` lists the components to decode, ascending; all of them if `count` is 0. */
int32_t jp2_shim_decode(jp2_shim_decoder *decoder, const jp2_shim_area *area, uint32_t reduction,
                        const uint32_t *components, uint32_t count);
uint32_t jp2_shim_plane_count(const jp2_shim_decoder *decoder);
/* The samples stay valid until the decoder is freed. */
void jp2_shim_get_plane(const jp2_shim_decoder *decoder, uint32_t index, jp2_shim_plane *plane);

/* The first error of the library; empty if there is none. */
const char *jp2_shim_error(const jp2_shim_decoder *decoder);
/* The next different warning of the library, or NULL. */
const char *jp2_shim_next_warning(jp2_shim_decoder *decoder);

/* MARK: encoding */

typedef struct jp2_shim_settings {
    uint32_t width, height;
    uint32_t channels, bits;
    uint32_t levels;       /* how often the size is halved                             */
    uint32_t tile;         /* side of a tile; 0: one tile                              */
    uint32_t progression;  /* 0 LRCP, 1 RLCP, 2 RPCL, 3 PCRL, 4 CPRL                   */
    uint32_t is_lossless;
    uint32_t mixes_colors; /* whether the first three channels are RGB                 */
    float    ratio;        /* of the raw bytes to the output; 0: by `fidelity`         */
    float    fidelity;     /* signal-to-noise ratio in decibels                        */
    uint64_t limit;        /* largest output in bytes                                  */
} jp2_shim_settings;

typedef struct jp2_shim_encoder jp2_shim_encoder;

/* Allocates the planes; NULL without memory. */
jp2_shim_encoder *jp2_shim_encoder_new(const jp2_shim_settings *settings);
void              jp2_shim_encoder_free(jp2_shim_encoder *encoder);
/* The samples of a channel, to be filled before the call of encode. */
int32_t *jp2_shim_encoder_plane(jp2_shim_encoder *encoder, uint32_t channel);
/* 0 on success. */
int32_t jp2_shim_encode(jp2_shim_encoder *encoder);
/* Whether the output passed its limit. */
int32_t        jp2_shim_encoder_overflowed(const jp2_shim_encoder *encoder);
const uint8_t *jp2_shim_encoder_output(const jp2_shim_encoder *encoder, uint64_t *count);
const char    *jp2_shim_encoder_error(const jp2_shim_encoder *encoder);

#endif
