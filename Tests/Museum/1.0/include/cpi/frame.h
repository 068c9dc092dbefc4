/*
 * frame.h - one image in time.
 *
 * Frames share one canvas and one clock. Pages, sizes, thumbnails and auxiliary images are not frames: they are items
 * (items.h).
 *
 * A decoder reports frames raw: the rectangle that they cover, how long they are shown, how they combine with the
 * canvas. It never composites; the host does, so that disposal and blending are alike in every format. A format that
 * only knows whole frames reports rectangles of the whole canvas.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_FRAME_H
#define CPI_FRAME_H
#include "image.h"

/* An exact fraction. Frozen for this major. A denominator of 0 with a numerator of 0 means "not stored". */
typedef struct cpi_rational {
    uint32_t numerator, denominator;
} cpi_rational;

/* How a frame combines with the canvas. */
#define CPI_BLEND_SOURCE ((uint32_t)0)  /* replaces its rectangle                */
#define CPI_BLEND_OVER   ((uint32_t)1)  /* is drawn over it with its alpha       */

/* What happens to the frame's rectangle before the next frame is drawn. */
#define CPI_DISPOSAL_KEEP       ((uint32_t)0)  /* stays                                           */
#define CPI_DISPOSAL_BACKGROUND ((uint32_t)1)  /* becomes transparent                             */
#define CPI_DISPOSAL_PREVIOUS   ((uint32_t)2)  /* becomes what it was before this frame           */

#define CPI_FRAME_INDEPENDENT ((uint32_t)0x01)  /* can be decoded without any other frame's samples */
#define CPI_FRAME_HAS_ALPHA   ((uint32_t)0x02)  /* some pixel may be other than opaque              */
#define CPI_FRAME_INTERLACED  ((uint32_t)0x04)  /* rows or passes arrive out of order               */
/*
 * CPI_BLEND_OVER with 8 bits per sample rounds as follows, for formats whose reference decoder defines every bit. For
 * a sample s and an alpha a of the frame, and d and b of the canvas, in integers that are rounded down:
 *
 *     total = a + b * (256 - a) / 256
 *     sample = (s * a + d * (total - a)) * (2^24 / total) / 2^24, alpha = total; unchanged if a is 0
 *
 * The frame replaces the pixels that the disposal of the frame before it cleared; all pixels if that leaves no frame
 * on the canvas. Without this flag the host rounds the exact quotient down.
 */
#define CPI_FRAME_FIXED_POINT ((uint32_t)0x08)

typedef struct cpi_frame_info {
    uint32_t     size;
    uint32_t     flags;    /* CPI_FRAME_...                                                                        */
    uint32_t     index;    /* from 0                                                                               */
    uint32_t     blend;    /* CPI_BLEND_...                                                                        */
    uint32_t     disposal; /* CPI_DISPOSAL_...                                                                     */
    cpi_rect     rect;     /* on the canvas; may be empty; may reach over its edges where the format allows it */
    cpi_rational duration; /* seconds, exactly as stored                                                           */
    uint32_t     reserved; /* must be zero                                                                         */
} cpi_frame_info;
#endif
