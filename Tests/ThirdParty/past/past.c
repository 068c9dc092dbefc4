/*
 * past.c - the QOI coder with shorter tables than today, as an older minor would have defined them: functions that may
 * be NULL are missing.
 *
 * A host must run it: the members that a shorter table lacks are absent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <coder_plugin.h>
#include <string.h>

static const cpi_plugin *qoi_entry(const cpi_host *host, cpi_error *error);
#define cpi_entry_1 qoi_entry
#include "../qoi/qoi.c"
#undef cpi_entry_1

/* A copy of a struct that states a smaller size. */
#define SHORTEN(copy, original, size_of_it)                                                                            \
    memset(&(copy), 0, sizeof(copy));                                                                                   \
    memcpy(&(copy), (original), (size_of_it));                                                                         \
    (copy).size = (uint32_t)(size_of_it)

static cpi_decoder_api old_decoder;
static cpi_encoder_api old_encoder;
static cpi_coder       old_coder;
static cpi_plugin      old_plugin;

static const cpi_coder *coder_at(uint32_t index) { return index == 0 ? &old_coder : NULL; }

const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    const cpi_plugin *plugin = qoi_entry(host, error);
    if (!plugin) {
        return NULL;
    }
    const cpi_coder *coder = plugin->coder(0);
    SHORTEN(old_decoder, coder->decoder, offsetof(cpi_decoder_api, dirty));
    SHORTEN(old_encoder, coder->encoder, offsetof(cpi_encoder_api, get));
    old_coder = *coder;
    old_coder.decoder = &old_decoder;
    old_coder.encoder = &old_encoder;
    SHORTEN(old_plugin, plugin, offsetof(cpi_plugin, init));
    old_plugin.coder = coder_at;
    return &old_plugin;
}
