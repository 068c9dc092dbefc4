/*
 * webp_frames.h - the images of an animation, one after another, and the changes between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WEBP_FRAMES_H
#define WEBP_FRAMES_H

#include "webp_shim.h"

/* The current image, the next one, and room for a part of it; 0xAARRGGBB. */
typedef struct webps_frames webps_frames;

typedef struct webps_rect {
    uint32_t x, y, width, height;
} webps_rect;

typedef struct webps_difference {
    webps_rect rect;            /* smallest with every changed pixel; empty if none changes       */
    uint64_t   changed;         /* pixels                                                         */
    uint32_t   has_translucent; /* a changed pixel is not opaque, so it cannot be blended over    */
    uint32_t   reserved;
} webps_difference;

/* Makes images of one size, transparent at first. Unless `exact` is set, the color of fully transparent pixels does not
   matter. Pixels whose channels differ by `tolerance` or less do not change. NULL without memory. */
webps_frames *webps_frames_new(uint32_t width, uint32_t height, int32_t exact, uint32_t tolerance);
void          webps_frames_free(webps_frames *f);

/* Copies the next image; `format` is one of the encoding ones of webp_shim.h. OK or MISUSE. */
int32_t webps_frames_load(webps_frames *f, uint32_t format, const uint8_t *pixels, size_t stride);

/* Returns the changes from the current image, with the pixels of `cleared` made transparent, to the next one. */
void webps_frames_compare(const webps_frames *f, const webps_rect *cleared, webps_difference *difference);

/* Copies a part of the next image for webps_frames_encode. With `holes`, unchanged pixels become transparent; with
   `blocks`, opaque ones only in macroblocks without changes. Returns the number of transparent pixels. */
uint64_t webps_frames_cut(webps_frames *f, const webps_rect *part, const webps_rect *cleared, int32_t holes,
                          int32_t blocks);

/* Whether the part of the next image has at most `limit` colors, up to 256. */
int32_t webps_frames_has_colors(const webps_frames *f, uint32_t limit);

/* Encodes the current part and writes it as a file without metadata. */
int32_t webps_frames_encode(webps_frames *f, webps_encoder *e);

/* Draws the current part on the current image, with `cleared` made transparent before. */
void webps_frames_show(webps_frames *f, const webps_rect *cleared);

#endif
