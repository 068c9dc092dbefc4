/*
 * plugin.h - the plugin as this process sees it: mapped, entered, and its structs read as the host reads them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <isolation_wire.h>

/* A coder, copied so that a shorter struct of an older plugin reads as if it had been whole. */
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

/* Maps and initialises the plugin of an ISO_LOAD and fills what ISO_LOADED says of it. */
void plugin_load(const iso_load *load, const char *folders, size_t length, int descriptor, iso_loaded *loaded);

/* Fills what ISO_LOADED says of coder number `index`. */
void plugin_describe(uint32_t index, iso_coder *coder);

/*
 * Copies an extension's table, which may be shorter or longer than this version's: missing functions are NULL, and all are
 * where there is no table or another one than `tag` names.
 */
void plugin_table(void *copy, size_t size, const void *raw, uint64_t tag);

/* Looks up an extension of the plugin. */
const void *plugin_get(const char *id);

/* NULL: there is none. */
const plugin_coder *plugin_coder_at(uint32_t index);

#endif
