/*
 * jxl_shim.h - libjxl 0.7 with fixed-width types, for the codec in Swift.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef JXL_SHIM_H
#define JXL_SHIM_H
#include <stddef.h>
#include <stdint.h>

/* libjxl's parallel runner. `run` calls `begin` with the number of threads, then `task` once for every index, and returns
   what `begin` returned. Any other error makes libjxl abort the process. */
typedef int32_t (*jxl_shim_begin)(void *work, size_t threads);
typedef void (*jxl_shim_task)(void *work, uint32_t index, size_t thread);
typedef int32_t (*jxl_shim_run)(void *context, void *work, jxl_shim_begin begin, jxl_shim_task task, uint32_t first,
                                uint32_t end);

/* How a sample is stored in memory. */
static const uint32_t jxl_shim_unorm8 = 1;
static const uint32_t jxl_shim_unorm16 = 2;
static const uint32_t jxl_shim_half = 3;
static const uint32_t jxl_shim_float = 4;

/* Interleaved pixels; row y begins at bytes + y * stride. */
typedef struct jxl_shim_pixels {
    uint8_t *bytes;
    uint64_t stride;
    uint32_t width, height;
    uint32_t channels; /* 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA */
    uint32_t sample;   /* jxl_shim_unorm8 ...                     */
} jxl_shim_pixels;

/* A structured description of colors; the numbers of primaries, white and transfer are those of libjxl's enums. */
typedef struct jxl_shim_color {
    uint32_t is_gray;
    uint32_t white, primaries, transfer;
    uint32_t intent;
    double   gamma;
    double   white_xy[2], red_xy[2], green_xy[2], blue_xy[2];
} jxl_shim_color;

/* MARK: decoding */

typedef struct jxl_shim_decoder jxl_shim_decoder;

/* The events at which a decoder stops; a set of these. */
static const uint32_t jxl_shim_wants_header = 1;
static const uint32_t jxl_shim_wants_frames = 2;
static const uint32_t jxl_shim_wants_pixels = 4;
static const uint32_t jxl_shim_wants_boxes = 8;
static const uint32_t jxl_shim_wants_jpeg = 16;

/* The results of a step. */
static const int32_t jxl_shim_end = 0;
static const int32_t jxl_shim_failed = 1;
static const int32_t jxl_shim_needs_input = 2;
static const int32_t jxl_shim_at_facts = 3;
static const int32_t jxl_shim_at_color = 4;
static const int32_t jxl_shim_at_frame = 5;
static const int32_t jxl_shim_needs_target = 6;
static const int32_t jxl_shim_at_image = 7;
static const int32_t jxl_shim_at_box = 8;
static const int32_t jxl_shim_box_full = 9;
static const int32_t jxl_shim_at_jpeg = 10;
static const int32_t jxl_shim_jpeg_full = 11;
static const int32_t jxl_shim_at_other = 12;

typedef struct jxl_shim_facts {
    uint32_t width, height;
    uint32_t bits, exponent_bits;         /* of a color sample; exponent bits of a float, else 0 */
    uint32_t colors;                      /* 1 or 3                                              */
    uint32_t alpha_bits;                  /* 0: no alpha                                         */
    uint32_t orientation;                 /* 1 ... 8                                             */
    uint32_t extra_channels;              /* alpha among them                                    */
    uint32_t is_premultiplied, keeps_profile, has_animation, has_container;
    uint32_t tick_numerator, tick_denominator; /* ticks per second                               */
    uint32_t loops;                       /* 0: without end                                      */
    uint32_t shown_width, shown_height;   /* the size to which the file asks to scale            */
} jxl_shim_facts;

/* Kinds of extra channels, as numbered by libjxl. */
static const uint32_t jxl_shim_alpha = 0;
static const uint32_t jxl_shim_depth = 1;
static const uint32_t jxl_shim_spot = 2;
static const uint32_t jxl_shim_mask = 3;
static const uint32_t jxl_shim_black = 4;

jxl_shim_decoder *jxl_shim_decoder_new(uint32_t wanted, jxl_shim_run run, void *context);
void jxl_shim_decoder_free(jxl_shim_decoder *decoder);

/* Reads bytes until an event; `used` receives the number of bytes that need not be passed again. */
int32_t jxl_shim_step(jxl_shim_decoder *decoder, const uint8_t *bytes, uint64_t count, uint64_t *used);

int32_t jxl_shim_get_facts(const jxl_shim_decoder *decoder, jxl_shim_facts *facts);
int32_t jxl_shim_channel_kind(const jxl_shim_decoder *decoder, uint32_t index, uint32_t *kind);
/* The name of an extra channel, cut to the capacity and closed by a NUL. */
void jxl_shim_channel_name(const jxl_shim_decoder *decoder, uint32_t index, char *name, uint64_t capacity);

/* The colors of the original (0) or of the decoded pixels (1); 0 on success, else only a profile describes them. */
int32_t jxl_shim_get_color(const jxl_shim_decoder *decoder, int32_t of_pixels, jxl_shim_color *color);
/* Length of the profile; 0 if there is none. */
uint64_t jxl_shim_profile_count(const jxl_shim_decoder *decoder, int32_t of_pixels);
int32_t jxl_shim_get_profile(const jxl_shim_decoder *decoder, int32_t of_pixels, uint8_t *bytes, uint64_t count);
/* Asks for pixels in these colors; only for images that do not keep the original profile. */
int32_t jxl_shim_prefer(jxl_shim_decoder *decoder, const jxl_shim_color *color);

/* At a frame: its duration in ticks, and whether it is the last one. */
int32_t jxl_shim_get_frame(const jxl_shim_decoder *decoder, uint32_t *ticks, uint32_t *is_last);
void jxl_shim_skip(jxl_shim_decoder *decoder, uint64_t frames);

/* At jxl_shim_needs_target. Pixels behind the end of a row are not written. */
int32_t jxl_shim_set_target(jxl_shim_decoder *decoder, const jxl_shim_pixels *pixels);
/* Also decodes an extra channel, as one channel of the same size. */
int32_t jxl_shim_set_channel(jxl_shim_decoder *decoder, uint32_t index, const jxl_shim_pixels *pixels);
/* Draws everything decoded so far; 0 on success. */
int32_t jxl_shim_flush(jxl_shim_decoder *decoder);

/* At a box: its type, behind decompression. */
int32_t jxl_shim_box_type(jxl_shim_decoder *decoder, char type[4]);
/* Lends memory for the contents; take it back before the memory changes. Returns the number of unused bytes. */
int32_t jxl_shim_lend_box(jxl_shim_decoder *decoder, uint8_t *bytes, uint64_t count);
uint64_t jxl_shim_take_box(jxl_shim_decoder *decoder);
/* The same for the stream of a packed JPEG. */
int32_t jxl_shim_lend_jpeg(jxl_shim_decoder *decoder, uint8_t *bytes, uint64_t count);
uint64_t jxl_shim_take_jpeg(jxl_shim_decoder *decoder);

/* MARK: encoding */

typedef struct jxl_shim_encoder jxl_shim_encoder;

typedef struct jxl_shim_settings {
    uint32_t width, height;
    uint32_t channels, sample;     /* as in jxl_shim_pixels                        */
    uint32_t orientation;
    uint32_t is_lossless, is_progressive, is_animated, has_boxes;
    uint32_t effort;               /* 1 ... 9                                      */
    uint32_t speed;                /* decoding speed, 0 ... 4                      */
    uint32_t ticks;                /* of a second                                  */
    uint32_t loops;                /* 0: without end                               */
    float    distance;             /* 0 ... 25                                     */
} jxl_shim_settings;

/* The reasons of libjxl for a failure. */
static const int32_t jxl_shim_no_memory = 2;
static const int32_t jxl_shim_no_jpeg = 3;
static const int32_t jxl_shim_bad_input = 4;
static const int32_t jxl_shim_unsupported = 0x80;

jxl_shim_encoder *jxl_shim_encoder_new(jxl_shim_run run, void *context);
void jxl_shim_encoder_free(jxl_shim_encoder *encoder);
int32_t jxl_shim_encoder_begin(jxl_shim_encoder *encoder, const jxl_shim_settings *settings);
int32_t jxl_shim_encoder_color(jxl_shim_encoder *encoder, const jxl_shim_color *color);
int32_t jxl_shim_encoder_profile(jxl_shim_encoder *encoder, const uint8_t *bytes, uint64_t count);
/* Copies a box; all boxes before the first frame. */
int32_t jxl_shim_encoder_box(jxl_shim_encoder *encoder, const char type[4], const uint8_t *bytes, uint64_t count,
                             uint32_t compresses);
/* Copies a frame that is shown for some ticks. */
int32_t jxl_shim_encoder_frame(jxl_shim_encoder *encoder, const jxl_shim_pixels *pixels, uint32_t ticks);
/* Takes a JPEG stream as the only frame, to be restored byte by byte; instead of begin and frame. */
int32_t jxl_shim_encoder_jpeg(jxl_shim_encoder *encoder, const uint8_t *bytes, uint64_t count, uint32_t effort);
/* Declares that no frame follows. */
void jxl_shim_encoder_close(jxl_shim_encoder *encoder);
/* Writes output: 0 = all of it, 1 = failed, 2 = call again. `count` is the capacity, then the bytes written. */
int32_t jxl_shim_encoder_write(jxl_shim_encoder *encoder, uint8_t *bytes, uint64_t *count);
/* The reason of the last failure. */
int32_t jxl_shim_encoder_reason(jxl_shim_encoder *encoder);

#endif
