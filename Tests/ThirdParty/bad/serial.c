/*
 * serial.c - a correct plugin that permits one thread at a time and reports progress three times per decode.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define NAME        serial
#define CONCURRENCY CPI_CONCURRENCY_SERIAL
#define BEFORE_DECODE                                                                                                 \
    for (uint64_t done = 0; done <= 2; done++) d->services->progress(d->services->ctx, done, 2);
#include "plugin.h"
