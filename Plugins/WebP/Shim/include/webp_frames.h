/*
 * webp_frames.h - the pictures of an animation, one after another, and what changes between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WEBP_FRAMES_H
#define WEBP_FRAMES_H

#include "webp_shim.h"

/* The picture that is seen, the next one, and room for a part of it; 0xAARRGGBB. */
typedef struct webps_frames webps_frames;

typedef struct webps_rect {
    uint32_t x, y, width, height;
} webps_rect;

typedef struct webps_difference {
    webps_rect rect;            /* smallest with every pixel that changes; empty where none does  */
    uint64_t   changed;         /* pixels                                                         */
    uint32_t   has_translucent; /* one that changes is not opaque, so it cannot be drawn over     */
    uint32_t   reserved;
} webps_difference;

/* Pictures of one size, transparent at first. Where `exact` is not set, the colour of fully transparent pixels does not
   matter. Pixels whose channels differ by `tolerance` or less do not change. NULL without memory. */
webps_frames *webps_frames_new(uint32_t width, uint32_t height, int32_t exact, uint32_t tolerance);
void          webps_frames_free(webps_frames *f);

/* Copies the next picture; `format` is one of the encoding ones of webp_shim.h. OK or MISUSE. */
int32_t webps_frames_load(webps_frames *f, uint32_t format, const uint8_t *pixels, size_t stride);

/* What the next picture changes of the one that is seen, with the pixels of `cleared` made transparent before. */
void webps_frames_compare(const webps_frames *f, const webps_rect *cleared, webps_difference *difference);

/* Copies a part of the next picture to where webps_frames_encode finds it. With `holes`, pixels that do not change are
   transparent; with `blocks`, opaque ones only in macroblocks in which none changes. Answers how many are. */
uint64_t webps_frames_cut(webps_frames *f, const webps_rect *part, const webps_rect *cleared, int32_t holes,
                          int32_t blocks);

/* Encodes the part that was cut out last and writes it as a file without metadata. */
int32_t webps_frames_encode(webps_frames *f, webps_encoder *e);

/* The part that was cut out is what is seen from now on, with `cleared` made transparent before. */
void webps_frames_show(webps_frames *f, const webps_rect *cleared);

#endif
