/*
 * extremes.c - a plugin with unusual metadata and warnings. A host must treat them equally in its own process and in a
 * worker. -DDIRTY=keep_dirty returns CPI_OK without filling the rectangle.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <coder_plugin.h>
#include <stdio.h>
#include <string.h>

#define MIB (1u << 20)
/* More than a host accepts without limits; the bytes are never read. */
#define BEYOND (1ull << 32)

static char    long_key[100001];
static char    cut_key[4098];
static uint8_t bytes[20 * MIB];

typedef struct item {
    uint32_t    kind;
    const char *key;
    uint64_t    length;
    int         has_no_bytes;
    int         key_length; /* of long_key; 0: `key` */
} item;

static const item items[] = {
    {.kind = CPI_BLOB_TEXT, .key = "", .length = 5},
    {.kind = CPI_BLOB_TEXT, .key = NULL, .length = 5},
    {.kind = CPI_BLOB_TEXT, .key = "empty", .length = 0},
    {.kind = CPI_BLOB_TEXT, .key = "no bytes", .length = 0, .has_no_bytes = 1},
    {.kind = CPI_BLOB_TEXT, .key = "a length without bytes", .length = 100, .has_no_bytes = 1},
    {.kind = CPI_BLOB_TEXT, .key = "too long without bytes", .length = BEYOND, .has_no_bytes = 1},
    {.kind = CPI_BLOB_TEXT, .key = "one", .length = 1},
    {.kind = CPI_BLOB_RAW, .key = "gAMA", .length = 4},
    {.kind = CPI_BLOB_TEXT, .key = "schl\xc3\xbcssel \xf0\x9f\x96\xbc", .length = 9},
    {.kind = CPI_BLOB_TEXT, .key = "\xff\xfe\x80 not UTF-8", .length = 9},
    {.kind = CPI_BLOB_TEXT, .key = "\xc3", .length = 9},
    {.kind = CPI_BLOB_TEXT, .key = "line\nfeed", .length = 9},
    {.kind = CPI_BLOB_TEXT, .key_length = 4095, .length = 9},
    {.kind = CPI_BLOB_TEXT, .key_length = 4096, .length = 9},
    {.kind = CPI_BLOB_TEXT, .key_length = 4097, .length = 9},
    {.kind = CPI_BLOB_TEXT, .key_length = 100000, .length = 9},
    {.kind = CPI_BLOB_TEXT, .key = cut_key, .length = 9},
    {.kind = CPI_BLOB_EXIF, .key = NULL, .length = 70000},
    {.kind = CPI_BLOB_XMP, .key = "xmp", .length = 70000},
    {.kind = CPI_BLOB_ICC, .key = NULL, .length = 200000},
    {.kind = CPI_BLOB_IPTC, .key = "iptc", .length = 130000},
    {.kind = CPI_BLOB_RAW, .key_length = 4000, .length = 61440},
    {.kind = CPI_BLOB_RAW, .key = "once more", .length = 9},
    {.kind = CPI_BLOB_RAW, .key = "once more", .length = 9},
    {.kind = CPI_BLOB_EXIF, .length = 4 * MIB},
    {.kind = CPI_BLOB_XMP, .length = 4 * MIB + 1},
    {.kind = CPI_BLOB_ICC, .length = sizeof bytes},
    {.kind = CPI_BLOB_RAW, .key = "beyond", .length = BEYOND},
    {.kind = CPI_BLOB_RAW, .key = "beyond", .length = INT64_MAX},
    {.kind = CPI_BLOB_RAW, .key = "beyond", .length = UINT64_MAX},
};
enum { ITEMS = sizeof items / sizeof items[0], AROUND_A_PACKET = 80, ALL = 300 };

static cpi_status hand_out(cpi_decoder *decoder, uint32_t index, cpi_blob *blob, cpi_error *error) {
    (void)decoder, (void)error;
    if (index >= ALL) return CPI_END;
    if (bytes[1] == 0) {
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7 + i / 251 + 1);
        memset(cut_key, 'c', sizeof cut_key - 1);
        memcpy(cut_key + 4095, "\xc3\xbc", 2);
    }
    item it = {.kind = CPI_BLOB_TEXT, .key = "short", .length = 1 + index % 5};
    if (index < ITEMS) it = items[index];
    /* Reply, key and bytes end just before, at and after the end of the first packet. */
    else if (index < ITEMS + AROUND_A_PACKET) it.length = 60850 + 8 * (index - ITEMS);
    if (it.key_length > 0) {
        memset(long_key, 'k', sizeof long_key - 1);
        long_key[it.key_length] = '\0';
        it.key = long_key;
    }
    blob->kind = it.kind;
    blob->key = it.key;
    blob->length = it.length;
    blob->bytes = it.has_no_bytes ? NULL : bytes;
    return CPI_OK;
}

static void warn_of_everything(const cpi_services *services) {
    char text[9000];
    /* Texts with the same truncation, equal only as Unicode, not UTF-8, and one character of many bytes. */
    static const char *const units[] = {"w", "\xc3\xbc", "u\xcc\x88", "\xf0\x9f\x96\xbc", "\xff", "e\xcc\x81\xcc\xa3\xcc\x82"};
    static const int lengths[] = {0, 1, 511, 512, 513, 1024, 2047, 2048, 2049, 8000};
    for (size_t unit = 0; unit < sizeof units / sizeof units[0]; unit++) {
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            size_t at = 0;
            for (int count = 0; count < lengths[i] && at + 10 < sizeof text; count++) {
                strcpy(text + at, units[unit]);
                at += strlen(units[unit]);
            }
            snprintf(text + at, sizeof text - at, "%zu", i);
            services->log(services->ctx, CPI_LOG_WARNING, text);
        }
    }
}

static void warn_often(const cpi_services *services) {
    char text[600];
    for (int i = 0; i < 200; i++) {
        /* 100 of them differ only after the part that a host keeps. */
        memset(text, 'o', sizeof text);
        snprintf(text + 520, sizeof text - 520, "%d", i);
        services->log(services->ctx, CPI_LOG_WARNING, i % 2 ? text : text + 515);
    }
}

#ifndef WARN
#define WARN warn_of_everything
#endif

static uint32_t warn_once(const cpi_services *services) {
    (void)warn_of_everything, (void)warn_often;
    WARN(services);
    return 2;
}

static cpi_status keep_dirty(cpi_decoder *decoder, cpi_rect *rect, cpi_error *error) {
    return (void)decoder, (void)rect, (void)error, CPI_OK;
}
static cpi_status no_dirty(cpi_decoder *decoder, cpi_rect *rect, cpi_error *error) {
    return (void)decoder, (void)rect, (void)error, CPI_NEED_INPUT;
}
static const void *const unused[] = {(const void *)keep_dirty, (const void *)no_dirty};

#define WIDTH ((void)unused, warn_once(d->services))
#define BLOB  hand_out
#include "../bad/plugin.h"
