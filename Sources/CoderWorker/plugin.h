/*
 * plugin.h - loads the plugin and reads its structs as the host does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <isolation_wire.h>

/* A copy of a coder in which the missing members of an older plugin's shorter struct are zero. */
typedef struct plugin_coder {
    const cpi_coder *pointer;
    cpi_coder        facts;
    cpi_decoder_api  decoder;
    cpi_encoder_api  encoder;
    int              has_decoder;
    int              has_encoder;
    int              has_reserved; /* 1: a reserved word of a table is not zero */
} plugin_coder;

#define PLUGIN_CODER_LIMIT 256

/* Maps and initializes the plugin of an ISO_LOAD, and fills its ISO_LOADED. */
void plugin_load(const iso_load *load, const char *folders, size_t length, int descriptor, iso_loaded *loaded);

/* Fills the description of coder number `index` for ISO_LOADED. */
void plugin_describe(uint32_t index, iso_coder *coder);

/*
 * Copies an extension's table, which may be shorter or longer than this version's. Missing functions are NULL; all are
 * NULL if there is no table, or if its tag is not `tag`.
 */
void plugin_table(void *copy, size_t size, const void *raw, uint64_t tag);

/* Looks up an extension of the plugin. */
const void *plugin_get(const char *id);

/* Returns a coder; NULL if there is none. */
const plugin_coder *plugin_coder_at(uint32_t index);

#endif
