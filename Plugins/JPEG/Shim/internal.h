/*
 * internal.h - declarations shared by the files of this shim.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef JPEG_INTERNAL_H
#define JPEG_INTERNAL_H

#include "jpeg_shim.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "enlarger.h"

/* The rows of one jpeg_read_scanlines or jpeg_write_scanlines call. */
#define STRIP 8

/* Returns the status for an error of the library. */
int32_t jpegs_status_of(int code);
void    jpegs_quiet(j_common_ptr c);

/* The position of each coefficient in a block. */
extern const uint8_t jpegs_zigzag[DCTSIZE2];

static inline void jpegs_invert(uint8_t *row, size_t count) {
    for (size_t i = 0; i < count; i++) row[i] = (uint8_t)(255 - row[i]);
}

/* ---- decoding ---- */

/* The output format of pixels. */
typedef struct target {
    uint32_t format, scale;
    int      plain; /* 1: chroma is repeated; 2: and samples may be slightly inexact */
} target;

/* The image to which the coefficients are written. */
typedef struct turned {
    jvirt_barray_ptr arrays[MAX_COMPONENTS];
    uint32_t         width, height;
    int              transposed;
} turned;

/* The buffer for the rows of a part, see jpeg_part.c. */
typedef struct part_output {
    jpegs_part wanted;
    uint32_t   left;  /* the first column of the library's rows   */
    uint8_t   *strip; /* STRIP rows of the library; NULL: no part */
} part_output;

/* A part of the input that is hidden from the library. */
typedef struct gap {
    size_t start, end;
} gap;

struct jpegs_decoder {
    struct jpeg_decompress_struct c;          /* client_data refers to this struct, also in `view`        */
    struct jpeg_decompress_struct view;       /* other outputs of the same coefficients, see open_view    */
    struct jpeg_decompress_struct *out;       /* the one of the two that produces rows                    */
    target                        main_target, view_target, out_target;
    struct jpeg_error_mgr         error;
    struct jpeg_source_mgr        source, view_source;
    jmp_buf                       jump;
    const uint8_t                *base;       /* start of the provided bytes, or of the window            */
    jpegs_read                    read;       /* fills the window; NULL: the file is in memory            */
    void                         *reader;
    uint8_t                      *window;
    size_t                        room;       /* bytes of the window                                      */
    size_t                        start;      /* position of `base` in the file                           */
    /* The facts of the image. The library's own fields may come from a second, damaged frame header. */
    uint32_t                      width, height;
    int                           components;
    size_t                        head;       /* bytes up to and with the header of the first scan        */
    size_t                        skip;       /* bytes still to skip once they have arrived               */
    size_t                        count;      /* bytes provided; of the file up to the window's end */
    size_t                        shown;      /* the end of the bytes that are visible to the library     */
    gap                          *gaps;       /* in order, not adjacent                                   */
    size_t                        gap_count;
    int                           complete;   /* no further byte will come                                */
    int                           started;    /* the library has begun                                    */
    int                           has_view;
    int                           ended;      /* the input has ended for the library                      */
    int                           starved;    /* the library requested samples behind that end            */
    uint32_t                      ended_at;   /* rows that had been written by then                       */
    jpegs_scan                    scan;
    uint32_t                      seen;       /* components that a scan was read for, one bit each        */
    JDIMENSION                    strip_width;
    uint8_t                      *strip;      /* CMYK rows before conversion to RGB                       */
    jpegs_enlarger               *enlarger;   /* for a coarse pass                                        */
    part_output                   part;
    int                           lent;       /* number of coefficient arrays given to the view so far    */
    struct jvirt_barray_control  *arrays;     /* of coefficients; the last one that was requested         */
    void (*realize)(j_common_ptr c);          /* the library's own                                        */
    uint32_t                      warnings;
    int                           damaged;    /* the file is damaged                                      */
    /* For coefficients that are rewritten: */
    jpegs_watch                   watch;
    struct jpeg_progress_mgr      progress;
    int32_t                       stopped;    /* the reason for stopping to read them                     */
    uint32_t                      restarts;   /* the interval of the first scan, in MCUs                  */
    uint32_t                      restart_rows; /* the same in rows of MCUs; 0 if it is not whole rows    */
    turned                        turned;
    char                          message[JMSG_LENGTH_MAX];
    char                          warning[JMSG_LENGTH_MAX];
};

/* Returns the status after the library has jumped out of a call. */
int32_t jpegs_decoder_failure(jpegs_decoder *d);

#define GUARD(d) \
    if (setjmp((d)->jump)) return jpegs_decoder_failure(d)

/* The position of the library in the file. */
size_t jpegs_position(const jpegs_decoder *d);
/* Makes the bytes from `position` on visible to the library, up to the next gap. */
void jpegs_show(jpegs_decoder *d, size_t position);

/* ---- coefficient arrays: see jpeg_arrays.c ---- */

/* Makes the library keep its coefficients in memory of this shim. */
void jpegs_arrays_install(jpegs_decoder *d);
/* The same for a decoder or an encoder that borrows the arrays of another decoder. */
void jpegs_arrays_share(j_common_ptr c);
void jpegs_arrays_free(jpegs_decoder *d);

/* Sets the output of a decoder that has read its header. */
void jpegs_aim(j_decompress_ptr c, target t);
/* Makes `out` the source of rows of that kind. */
int32_t jpegs_select_output(jpegs_decoder *d, j_decompress_ptr out, target t);
/* Writes the next `wanted` rows of `out`, at most STRIP; returns their number. */
JDIMENSION jpegs_read_strip(jpegs_decoder *d, uint8_t *pixels, size_t stride, JDIMENSION wanted);

/* ---- encoding ---- */

/* Six for each component: the longest script that the library makes. */
#define MOST_SCANS (6 * MAX_COMPONENTS)

struct jpegs_encoder {
    struct jpeg_compress_struct  c; /* first: the library's pointer is ours */
    struct jpeg_error_mgr        error;
    struct jpeg_destination_mgr  destination;
    struct jpeg_progress_mgr     progress;
    jmp_buf                      jump;
    jpegs_callbacks              callbacks;
    int                          stopped;
    uint32_t                     format;
    uint32_t                     polls;
    uint8_t                     *strip; /* CMYK rows, inverted before they are written */
    uint8_t                     *output;
    jpeg_scan_info               scans[MOST_SCANS];
    char                         message[JMSG_LENGTH_MAX];
};

#define ENCODER_GUARD(e) \
    if (setjmp((e)->jump)) return (e)->stopped ? JPEGS_STOPPED : jpegs_status_of((e)->error.msg_code)

/* ---- rewriting coefficients ---- */

/* Blocks `across` x `down` of a component, in memory order. */
jvirt_barray_ptr jpegs_array_new(jpegs_decoder *d, JDIMENSION across, JDIMENSION down);
/* A part of another array; with `flipped`, its rows are in reverse order. */
jvirt_barray_ptr jpegs_array_part(jpegs_decoder *d, jvirt_barray_ptr whole, JDIMENSION column, JDIMENSION row,
                                  JDIMENSION down, int flipped);
/* Frees the memory before the decoder is freed. */
void             jpegs_array_release(jvirt_barray_ptr array);
JBLOCKROW        jpegs_array_row(jvirt_barray_ptr array, JDIMENSION row);

/* A component of the image that is written. */
typedef struct plane {
    int        across, down;           /* samples of a unit: the sampling factors */
    JDIMENSION blocks_across, blocks_down;
} plane;

/* Returns the number of blocks in a unit of all components. */
int jpegs_planes(const jpegs_decoder *d, plane planes[MAX_COMPONENTS]);
/* Whether all components fit into one scan, ITU-T T.81 B.2.3. */
int jpegs_interleaves(const jpegs_decoder *d, int blocks);

#endif
