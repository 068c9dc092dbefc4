/*
 * services.c - a correct plugin that uses every service when its header is read. The width reports, bit by bit, which
 * services violated the contract; 2 means none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <coder_plugin.h>
#include <stdio.h>
#include <string.h>

/* The limit of all memory is 1 MiB. */
#define MIB 1048576

static uint32_t measure(const cpi_services *s) {
    static uint32_t result;
    if (result) return result;
    uint32_t bad = 0;
    char     text[3000];
    s->log(s->ctx, CPI_LOG_INFO, "not for the user");
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "warning %d", i / 2);
        s->log(s->ctx, CPI_LOG_WARNING, text);
    }
    for (uint64_t i = 0; i <= 100000; i++) s->progress(s->ctx, i, 100000);

    void *half = s->allocate(s->ctx, MIB / 2);
    bad |= half ? 0 : 4;
    bad |= (uintptr_t)half % 16 ? 4 : 0;
    bad |= s->allocate(s->ctx, MIB / 2 + 1) ? 8 : 0;
    bad |= s->allocate(s->ctx, UINT64_MAX) || s->allocate(s->ctx, INT64_MAX) ? 8 : 0;
    bad |= s->budget(s->ctx, MIB / 4) == CPI_OK ? 0 : 16;
    bad |= s->budget(s->ctx, MIB / 2) == CPI_LIMIT ? 0 : 16;
    s->release(s->ctx, half);
    s->release(s->ctx, NULL);
    bad |= s->budget(s->ctx, MIB / 2) == CPI_OK ? 0 : 32;
    bad |= s->budget(s->ctx, -3 * MIB) == CPI_OK ? 0 : 32;
    bad |= s->budget(s->ctx, INT64_MIN) == CPI_OK ? 0 : 32;

    bad |= s->poll(s->ctx) == CPI_CONTINUE ? 0 : 64;
    bad |= s->now(s->ctx) > 0 && s->now(s->ctx) <= s->now(s->ctx) ? 0 : 128;
    bad |= s->thread_hint(s->ctx) == 3 ? 0 : 256;
    return result = bad | 2;
}

#define WIDTH measure(d->services)

#include "../bad/plugin.h"
