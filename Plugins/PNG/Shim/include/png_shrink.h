/*
 * png_shrink.h - compresses stored rows to the shortest zlib stream for a given effort.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_SHRINK_H
#define PNG_SHRINK_H

#include <stdint.h>

#include "png_pack.h"

/* The rule that chooses the filter of a row; below five: always that filter. */
#define PNGSHIM_BY_SIZE     ((uint8_t)5) /* the smallest sum of absolute differences               */
#define PNGSHIM_BY_ENTROPY  ((uint8_t)6) /* the fewest bits for the bytes of the row alone            */
#define PNGSHIM_BY_PAIRS    ((uint8_t)7) /* the fewest different pairs of bytes                       */
#define PNGSHIM_BY_HISTORY  ((uint8_t)8) /* the fewest bits given the bytes of the last rows          */
#define PNGSHIM_BY_CONTEXT  ((uint8_t)9) /* the fewest bits for pairs of bytes; slow                  */

typedef struct pngshim_shrinker pngshim_shrinker;

typedef struct pngshim_shrinking {
    uint64_t row_bytes; /* of the longest row, without a filter byte                        */
    uint64_t total;     /* bytes of all rows, each with its filter byte                     */
    uint32_t step;      /* bytes from a sample to the one that filters compare it with      */
    uint8_t  strategy;
    uint8_t  level;     /* of libdeflate, 1 ... 12                                            */
    uint8_t  measured;  /* computes only the approximate length                             */
} pngshim_shrinking;

int32_t  pngshim_shrinker_open(pngshim_shrinker **shrinker);
void     pngshim_shrinker_close(pngshim_shrinker *shrinker);
/* Returns the memory of a shrinker for such an image, without its output. */
uint64_t pngshim_shrinker_memory(const pngshim_shrinking *shrinking);
/* Begins a stream; discards the rest of an earlier one. */
int32_t  pngshim_shrinker_start(pngshim_shrinker *shrinker, const pngshim_shrinking *shrinking);
/* Begins a pass, or a part that does not follow the earlier rows: the row above is empty. */
int32_t  pngshim_shrinker_pass(pngshim_shrinker *shrinker, uint64_t row_bytes);
/* Adds `count` rows, adjacent in memory. */
int32_t  pngshim_shrinker_push(pngshim_shrinker *shrinker, const uint8_t *rows, uint32_t count);
int32_t  pngshim_shrinker_end(pngshim_shrinker *shrinker);
/* Returns the number of bytes of the stream so far. */
uint64_t pngshim_shrinker_length(const pngshim_shrinker *shrinker);
/* The stream; valid until the next call on this shrinker. */
void     pngshim_shrinker_take(pngshim_shrinker *shrinker, const uint8_t **bytes, uint64_t *count);

#endif
