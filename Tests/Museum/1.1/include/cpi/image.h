/*
 * image.h - pixels: format, surface, colour, and the facts of a whole picture.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_IMAGE_H
#define CPI_IMAGE_H

#include "version.h"

/* A rectangle in pixels; x grows to the right, y downwards. Frozen for this major. The origin may lie above or left of the
   canvas, as crops of some formats do; the host shows what lies on it. */
typedef struct cpi_rect {
    int32_t  x, y;
    uint32_t width, height;
} cpi_rect;

/* Channels in memory order. */
#define CPI_CHANNELS_GRAY       ((uint8_t)1)
#define CPI_CHANNELS_GRAY_ALPHA ((uint8_t)2)
#define CPI_CHANNELS_RGB        ((uint8_t)3)
#define CPI_CHANNELS_RGBA       ((uint8_t)4)
#define CPI_CHANNELS_BGRA       ((uint8_t)5)
#define CPI_CHANNELS_CMYK       ((uint8_t)6)  /* 0 = no ink */

/* What the number in a sample means. */
#define CPI_NUMERIC_UNORM ((uint8_t)1)  /* 0 ... 2^bits - 1 stands for 0.0 ... 1.0; 8 or 16 bits, native endian */
#define CPI_NUMERIC_FLOAT ((uint8_t)2)  /* IEEE 754; 16 (half) or 32 (single) bits, native endian              */

#define CPI_ALPHA_NONE          ((uint8_t)0)  /* the format has no alpha channel                          */
#define CPI_ALPHA_STRAIGHT      ((uint8_t)1)  /* colour is not multiplied by alpha                        */
#define CPI_ALPHA_PREMULTIPLIED ((uint8_t)2)  /* colour is multiplied by alpha                            */
#define CPI_ALPHA_OPAQUE        ((uint8_t)3)  /* there is an alpha channel and every sample is full       */

/*
 * How one pixel is stored. Frozen for this major.
 * Samples are interleaved; a format with fewer significant bits (10 or 12 of 16) is expanded to the full range and
 * says its depth in cpi_image_info.bit_depth.
 */
typedef struct cpi_pixel_format {
    uint8_t  channels; /* CPI_CHANNELS_... */
    uint8_t  numeric;  /* CPI_NUMERIC_...  */
    uint8_t  bits;     /* bits of one sample in memory: 8, 16 or 32 */
    uint8_t  alpha;    /* CPI_ALPHA_...    */
    uint32_t reserved; /* must be zero     */
} cpi_pixel_format;

/*
 * Memory that the host owns and the plugin writes (decode) or reads (encode).
 * Row y begins at pixels + y * stride. Bytes behind the last pixel of a row belong to somebody else (the surface may
 * be a part of a larger canvas): a plugin neither reads nor writes them.
 */
typedef struct cpi_surface {
    uint32_t                size;
    uint32_t                flags;      /* none defined */
    cpi_pixel_format        format;
    uint32_t                width;      /* pixels */
    uint32_t                height;     /* rows   */
    uint64_t                stride;     /* bytes from one row's start to the next, at least width * bytes per pixel */
    uint8_t *CPI_NULLABLE   pixels;
    uint64_t                byte_count; /* bytes that may be touched from `pixels` on */
} cpi_surface;

#define CPI_COLOR_HAS_CICP    ((uint32_t)0x01)  /* the four code points below are valid                       */
#define CPI_COLOR_HAS_ICC     ((uint32_t)0x02)  /* a blob of kind CPI_BLOB_ICC describes the colours          */
#define CPI_COLOR_PREFER_CICP ((uint32_t)0x04)  /* where both are there, the code points win                  */

/*
 * The meaning of the colours. No flag set: the file does not say, which is not the same as sRGB.
 * It lies inside cpi_image_info and so never grows: frozen for this major.
 */
typedef struct cpi_color {
    uint32_t size;
    uint32_t flags;      /* CPI_COLOR_...                                            */
    uint8_t  primaries;  /* ITU-T H.273 section 8.1                                  */
    uint8_t  transfer;   /* ITU-T H.273 section 8.2                                  */
    uint8_t  matrix;     /* ITU-T H.273 section 8.3, as stored; surfaces hold RGB    */
    uint8_t  full_range; /* 1: full range                                            */
    uint32_t reserved;   /* must be zero                                             */
} cpi_color;

#define CPI_IMAGE_HAS_ALPHA           ((uint32_t)0x01)  /* some pixel may be other than opaque                */
#define CPI_IMAGE_FRAME_COUNT_KNOWN   ((uint32_t)0x02)  /* frame_count is final                               */
#define CPI_IMAGE_ORIENTATION_APPLIED ((uint32_t)0x04)  /* pixels come out upright; `orientation` is for show */
#define CPI_IMAGE_LOSSY               ((uint32_t)0x08)  /* the data was compressed with loss                  */
#define CPI_IMAGE_ANIMATED            ((uint32_t)0x10)  /* the container declares an animation                */
#define CPI_IMAGE_HAS_BACKGROUND      ((uint32_t)0x20)  /* `background` is stored in the file                 */
#define CPI_IMAGE_ROWS                ((uint32_t)0x40)  /* since 1.1: a still that decode hands out in bands of
                                                           whole rows (see cpi_decode_request.region), in memory
                                                           that does not grow with the height                 */

#define CPI_LOOPS_UNKNOWN  ((uint32_t)0)  /* the file does not say                 */
#define CPI_LOOPS_COUNT    ((uint32_t)1)  /* loop_count is the number of plays     */
#define CPI_LOOPS_INFINITE ((uint32_t)2)

#define CPI_DENSITY_NONE   ((uint32_t)0)
#define CPI_DENSITY_METER  ((uint32_t)1)  /* pixels per metre                      */
#define CPI_DENSITY_ASPECT ((uint32_t)2)  /* only the ratio of x to y has meaning  */

/* The facts of a picture: what read_header tells the host, and what the host tells an encoder. */
typedef struct cpi_image_info {
    uint32_t         size;
    uint32_t         flags;         /* CPI_IMAGE_...                                                        */
    uint32_t         width;         /* canvas, pixels, before orientation unless ORIENTATION_APPLIED        */
    uint32_t         height;
    uint32_t         orientation;   /* Exif 1 ... 8; 0 = not stored (CIPA DC-008, tag 0x0112)               */
    uint32_t         bit_depth;     /* significant bits of one stored sample                                */
    uint32_t         frame_count;   /* 1 for a still; 0 = not known yet                                     */
    uint32_t         loop_kind;     /* CPI_LOOPS_...                                                        */
    uint64_t         loop_count;    /* plays, with CPI_LOOPS_COUNT                                          */
    cpi_pixel_format native;        /* the format that needs no conversion                                  */
    cpi_color        color;
    uint32_t         density_unit;  /* CPI_DENSITY_...                                                      */
    uint32_t         density_x;
    uint32_t         density_y;
    uint8_t          background[4]; /* RGBA8, straight alpha                                                */
#if CPI_TARGET_MINOR >= 1
    uint32_t         thumbnail_count; /* since 1.1: embedded thumbnails (see CPI_EXT_THUMBNAIL)             */
    uint32_t         reserved;        /* must be zero                                                       */
#endif
} cpi_image_info;

#endif
