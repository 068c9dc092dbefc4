/*
 * internal.h - the parts that the files of this shim share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WEBP_INTERNAL_H
#define WEBP_INTERNAL_H

#include "webp_shim.h"

#include <webp/decode.h>

int32_t webps_status_of(VP8StatusCode code);

/* ---- reduction ----
 *
 * The library's own scaler takes a quarter of the time of a reduced decode, sample by sample. The reducer instead lets
 * the library write its YUV planes, and averages their rows with vector instructions while they arrive. Each new sample
 * is the mean of the samples that it covers. */

typedef struct webps_reducer webps_reducer;

/* NULL without memory, or if a side is not at least halved. */
webps_reducer *webps_reducer_new(const webps_reduction *wanted);
void           webps_reducer_free(webps_reducer *r);

/* Describes the planes to the library. */
void webps_reducer_lend(const webps_reducer *r, WebPYUVABuffer *buffer);

/* Uses the first `rows` rows of the image, which the library does not write again, and stores the number of complete
   new rows. Returns 1 if all are complete. */
int webps_reducer_take(webps_reducer *r, uint32_t rows, uint32_t *done);

#endif
