/*
 * image.h - pixels: format, surface, color, and the facts of an image.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_IMAGE_H
#define CPI_IMAGE_H
#include "version.h"
CPI_ASSUME_NONNULL_BEGIN

/* A rectangle in pixels; x grows to the right, y downwards. Frozen for this major. The origin may be left of or above
   the canvas, as crops of some formats are; the host shows the part on the canvas. */
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
#define CPI_CHANNELS_CMYK       ((uint8_t)6)  /* 0 = no ink                                                     */
#define CPI_CHANNELS_MANY       ((uint8_t)7)  /* `count` channels without a common meaning; see cpi_pixel_format */

/* What the number in a sample means. */
#define CPI_NUMERIC_UNORM ((uint8_t)1)  /* 0 ... 2^bits - 1 stands for 0.0 ... 1.0; 8 or 16 bits, native endian */
#define CPI_NUMERIC_FLOAT ((uint8_t)2)  /* IEEE 754; 16 (half) or 32 (single) bits, native endian              */
#define CPI_NUMERIC_UINT  ((uint8_t)3)  /* an unsigned integer of 8, 16 or 32 bits that stands for itself       */
#define CPI_NUMERIC_SINT  ((uint8_t)4)  /* a signed integer of 8, 16 or 32 bits that stands for itself          */

#define CPI_ALPHA_NONE          ((uint8_t)0)  /* the format has no alpha channel                          */
#define CPI_ALPHA_STRAIGHT      ((uint8_t)1)  /* color is not multiplied by alpha                         */
#define CPI_ALPHA_PREMULTIPLIED ((uint8_t)2)  /* color is multiplied by alpha                             */
#define CPI_ALPHA_OPAQUE        ((uint8_t)3)  /* there is an alpha channel and every sample is full       */

#define CPI_LAYOUT_INTERLEAVED ((uint8_t)0)  /* the samples of a pixel are neighbors      */
#define CPI_LAYOUT_PLANAR      ((uint8_t)1)  /* each channel has a plane of its own       */

/*
 * How one pixel is stored. Frozen for this major.
 * A format with fewer significant bits (10 or 12 of 16) is expanded to the full range; cpi_image_info.bit_depth states
 * the stored depth.
 * CHANNELS_MANY, UINT, SINT and PLANAR describe what a file holds. Surfaces of this minor never have them, so a decoder
 * whose native format is one of these offers another format beside it.
 */
typedef struct cpi_pixel_format {
    uint8_t  channels; /* CPI_CHANNELS_...                                     */
    uint8_t  numeric;  /* CPI_NUMERIC_...                                      */
    uint8_t  bits;     /* bits of one sample in memory: 8, 16 or 32            */
    uint8_t  alpha;    /* CPI_ALPHA_...                                        */
    uint16_t count;    /* channels, with CPI_CHANNELS_MANY; 0 otherwise        */
    uint8_t  layout;   /* CPI_LAYOUT_...                                       */
    uint8_t  reserved; /* must be zero                                         */
} cpi_pixel_format;

/*
 * Memory that the host owns and the plugin writes (decode) or reads (encode).
 * Row y begins at pixels + y * stride. A plugin neither reads nor writes the bytes after the last pixel of a row: the
 * surface may be a part of a larger canvas.
 */
typedef struct cpi_surface {
    uint32_t                size;
    uint32_t                flags;      /* none defined                                                         */
    cpi_pixel_format        format;
    uint32_t                width;      /* pixels                                                               */
    uint32_t                height;     /* rows                                                                 */
    uint64_t                stride;     /* bytes from one row's start to the next, at least width * pixel bytes */
    uint8_t *CPI_NULLABLE   pixels;
    uint64_t                byte_count; /* bytes that may be touched from `pixels` on                           */
} cpi_surface;

#define CPI_COLOR_HAS_CICP           ((uint32_t)0x01)  /* the four code points are valid                            */
#define CPI_COLOR_HAS_ICC            ((uint32_t)0x02)  /* a blob of kind CPI_BLOB_ICC describes the colors          */
#define CPI_COLOR_PREFER_CICP        ((uint32_t)0x04)  /* where both are there, the code points win                 */
#define CPI_COLOR_HAS_GAMMA          ((uint32_t)0x08)  /* cpi_image_info.gamma is valid                             */
#define CPI_COLOR_HAS_CHROMATICITIES ((uint32_t)0x10)  /* cpi_image_info.chromaticities is valid                    */
#define CPI_COLOR_HAS_MASTERING      ((uint32_t)0x20)  /* cpi_image_info.mastering is valid                         */
#define CPI_COLOR_HAS_CONTENT_LIGHT  ((uint32_t)0x40)  /* the two content light levels are valid                    */

/* The meaning of the colors. Frozen for this major. No flag set: the file does not state it, which is not the same as
   sRGB. ICC and code points win over gamma and chromaticities. */
typedef struct cpi_color {
    uint32_t flags;       /* CPI_COLOR_...                                            */
    uint8_t  primaries;   /* ITU-T H.273 section 8.1                                  */
    uint8_t  transfer;    /* ITU-T H.273 section 8.2                                  */
    uint8_t  matrix;      /* ITU-T H.273 section 8.3, as stored; surfaces hold RGB    */
    uint8_t  full_range;  /* 1: full range                                            */
    uint32_t reserved[2]; /* must be zero                                             */
} cpi_color;

/* CIE 1931 xy of the primaries and of white, in units of 1/100,000. Frozen for this major. */
typedef struct cpi_chromaticities {
    int32_t red_x, red_y, green_x, green_y, blue_x, blue_y, white_x, white_y;
} cpi_chromaticities;

/* The display that an image was mastered on (SMPTE ST 2086). Frozen for this major. */
typedef struct cpi_mastering {
    cpi_chromaticities colors;
    uint32_t           max_luminance; /* 1/10,000 cd/m2 */
    uint32_t           min_luminance; /* 1/10,000 cd/m2 */
} cpi_mastering;

#define CPI_IMAGE_HAS_ALPHA           ((uint32_t)0x001) /* some pixel may be other than opaque                        */
#define CPI_IMAGE_ORIENTATION_APPLIED ((uint32_t)0x002) /* pixels come out upright; `orientation` is for information  */
#define CPI_IMAGE_LOSSY               ((uint32_t)0x004) /* the data was compressed with loss                          */
#define CPI_IMAGE_ANIMATED            ((uint32_t)0x008) /* the container declares an animation                        */
#define CPI_IMAGE_HAS_BACKGROUND      ((uint32_t)0x010) /* `background` is stored in the file                         */
#define CPI_IMAGE_ROWS                ((uint32_t)0x020) /* a still that decode hands out in bands, in memory that does
                                                           not grow with the height: see cpi_decode_request.region   */
#define CPI_IMAGE_SCALABLE            ((uint32_t)0x040) /* vectors: width and height are nominal, scaled_size answers
                                                           every wanted size                                          */
#define CPI_IMAGE_ITEMS               ((uint32_t)0x080) /* the file holds more items than this one (see items.h)      */

#define CPI_LOOPS_UNKNOWN  ((uint32_t)0)  /* the file does not state it          */
#define CPI_LOOPS_COUNT    ((uint32_t)1)  /* loop_count is the number of plays   */
#define CPI_LOOPS_INFINITE ((uint32_t)2)

#define CPI_DENSITY_NONE   ((uint32_t)0)
#define CPI_DENSITY_METER  ((uint32_t)1)  /* pixels per meter                    */
#define CPI_DENSITY_ASPECT ((uint32_t)2)  /* only the ratio of x to y has meaning */

/* What decoding a region costs, with CPI_CODER_REGION. */
#define CPI_REGION_WHOLE ((uint32_t)0)  /* as much as the whole frame                                      */
#define CPI_REGION_ABOVE ((uint32_t)1)  /* rows above it are parsed, not reconstructed; rows below are not read */
#define CPI_REGION_TILES ((uint32_t)2)  /* only the tiles that it touches (tile_width x tile_height)       */

/* The facts of an image: what read_header tells the host, and what the host tells an encoder. */
typedef struct cpi_image_info {
    uint32_t           size;
    uint32_t           flags;         /* CPI_IMAGE_...                                                          */
    uint32_t           width;         /* canvas, pixels, before orientation unless ORIENTATION_APPLIED          */
    uint32_t           height;
    uint32_t           orientation;   /* Exif 1 ... 8; 0 = not stored (CIPA DC-008, tag 0x0112)                 */
    uint32_t           bit_depth;     /* significant bits of one stored sample                                  */
    uint32_t           frame_count;   /* 1 for a still; 0 = not known (yet)                                     */
    uint32_t           loop_kind;     /* CPI_LOOPS_...                                                          */
    uint64_t           loop_count;    /* plays, with CPI_LOOPS_COUNT                                            */
    cpi_pixel_format   native;        /* the format that needs no conversion                                    */
    cpi_color          color;
    uint32_t           density_unit;  /* CPI_DENSITY_...                                                        */
    uint32_t           density_x;
    uint32_t           density_y;
    uint8_t            background[4]; /* RGBA8, straight alpha                                                  */
    uint32_t           tile_width;    /* tiles that the file is stored in; 0 = none                             */
    uint32_t           tile_height;
    uint32_t           region_cost;   /* CPI_REGION_...                                                         */
    uint32_t           gamma;         /* exponent from light to sample in 1/100,000: 45455 for 1/2.2            */
    cpi_chromaticities chromaticities;
    cpi_mastering      mastering;
    uint32_t           max_content_light;       /* MaxCLL, 1/10,000 cd/m2                                       */
    uint32_t           max_frame_average_light; /* MaxFALL, 1/10,000 cd/m2                                      */
} cpi_image_info;

CPI_ASSUME_NONNULL_END
#endif
