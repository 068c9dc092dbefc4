#include "session.h"

#include <stdlib.h>
#include <string.h>

/* The options of the session that is being opened. */
static cpi_option *items;
static char *arena;
static cpi_options all;

void options_end(void) {
    free(items);
    free(arena);
    items = NULL;
    arena = NULL;
}

const cpi_options *options_begin(const uint8_t *bytes, size_t length, uint32_t count) {
    /* Each option takes at least its head in the message, which limits the allocation here. */
    if (count > length / sizeof(iso_option)) {
        wire_malformed();
    }
    items = calloc((size_t)count + 1, sizeof *items);
    /* A copy, because plugins may write to the values, which need no alignment. */
    arena = malloc(length + 1);
    if (!items || !arena) {
        options_end();
        return NULL;
    }
    if (length > 0) {
        memcpy(arena, bytes, length);
    }
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        iso_option given;
        if (length - at < sizeof given) {
            wire_malformed();
        }
        memcpy(&given, arena + at, sizeof given);
        at += sizeof given;
        /* The key and its NUL, then the bytes and theirs. */
        if (given.key_length >= length - at) {
            wire_malformed();
        }
        char *key = arena + at;
        at += (size_t)given.key_length + 1;
        if (given.length >= length - at) {
            wire_malformed();
        }
        char *value = arena + at;
        at += (size_t)given.length + 1;
        if (key[given.key_length] != '\0' || value[given.length] != '\0') {
            wire_malformed();
        }
        int has_bytes = given.type == CPI_OPTION_STRING || given.type == CPI_OPTION_BYTES ||
                        given.type == CPI_OPTION_ENUM;
        items[i] = (cpi_option){.size = sizeof items[i],
                                .type = given.type,
                                .key = key,
                                .integer = given.integer,
                                .real = given.real,
                                .bytes = has_bytes ? (uint8_t *)value : NULL,
                                .length = given.length};
    }
    if (at != length) {
        wire_malformed();
    }
    all = (cpi_options){.size = sizeof all, .count = count, .stride = sizeof *items, .items = items};
    return &all;
}
