/*
 * gif_shim.h - giflib as a reference: the tests compare every frame with it. The plugin does not use it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GIF_SHIM_H
#define GIF_SHIM_H

#include <stdint.h>

typedef struct gifshim_reader gifshim_reader;

typedef struct gifshim_frame {
    uint32_t       x, y, width, height;
    uint32_t       delay;       /* 1/100 s */
    uint32_t       disposal;    /* as stored */
    int32_t        transparent; /* -1: none */
    const uint8_t *rgba;        /* width * height * 4 bytes, rows in order; valid until the next call */
} gifshim_frame;

/* Opens a file in memory, which must live until close; NULL if giflib refuses it. */
gifshim_reader *gifshim_open(const uint8_t *bytes, uint64_t count);
void            gifshim_close(gifshim_reader *reader);
/* 1: a frame, 0: the end, -1: an error. */
int32_t         gifshim_next(gifshim_reader *reader, gifshim_frame *frame);

#endif
