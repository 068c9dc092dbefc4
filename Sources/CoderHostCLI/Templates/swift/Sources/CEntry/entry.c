/*
 * entry.c - the manifest, the tables and the only exported symbol of the coder @ID@.
 * Manifest and tables must match.
 */
#include "entry.h"

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

/* The manifest: the host reads it without running this plugin. */
CPI_MANIFEST("{ \"schema\": 1,"
    " \"plugin\": { \"id\": \"@ID@-plugin\", \"version\": \"0.1.0\", \"name\": \"@NAME@\","
    "  \"license\": \"UNLICENSED\" },"
    " \"abi\": { \"major\": 1, \"minor_built\": " TEXT(CPI_TARGET_MINOR) ", \"minor_needed\": 0 },"
    " \"concurrency\": \"any\", \"isolation\": { \"threads\": 0 },"
    " \"coders\": [ { \"id\": \"@ID@\", \"roles\": [\"decode\", \"encode\", \"incremental\"],"
    "  \"priority\": 100, \"cost\": \"cheap\", \"metadata\": [],"
    "  \"formats\": [ { \"id\": \"@NAME@\", \"name\": \"@NAME@\", \"mime\": [\"image/x-@NAME@\"],"
    "   \"extensions\": [\"@NAME@\"], \"uti\": [],"
    "   \"signatures\": [ { \"all\": [ { \"at\": 0, \"bytes\": \"@MAGIC_HEX@\" } ] } ] } ],"
    "  \"options\": [] } ] }");

/* The plugin has no extensions: every id is unknown. */
static const void *get_from_decoder(cpi_decoder *decoder, const char *id) { return (void)decoder, (void)id, NULL; }
static const void *get_from_encoder(cpi_encoder *encoder, const char *id) { return (void)encoder, (void)id, NULL; }
static const void *get(const char *id) { return (void)id, NULL; }

static const cpi_decoder_api decoder_api = {
    .size        = sizeof(cpi_decoder_api),
    .open        = coder_open_decoder,
    .close       = coder_close_decoder,
    .set_source  = coder_set_source,
    .read_header = coder_read_header,
    .offer       = coder_offer,
    .next_frame  = coder_next_frame,
    .seek_frame  = coder_seek_frame,
    .decode      = coder_decode,
    .get         = get_from_decoder,
    .dirty       = coder_dirty,
};

static const cpi_encoder_api encoder_api = {
    .size      = sizeof(cpi_encoder_api),
    .open      = coder_open_encoder,
    .close     = coder_close_encoder,
    .accept    = coder_accept,
    .begin     = coder_begin,
    .add_frame = coder_add_frame,
    .finish    = coder_finish,
    .get       = get_from_encoder,
};

static const cpi_coder only_coder = {
    .size    = sizeof(cpi_coder),
    .roles   = CPI_CODER_DECODE | CPI_CODER_ENCODE | CPI_CODER_INCREMENTAL,
    .id      = "@ID@",
    .decoder = &decoder_api,
    .encoder = &encoder_api,
};

static const cpi_coder *coder(uint32_t index) { return index == 0 ? &only_coder : NULL; }

static const cpi_plugin plugin = {
    .size             = sizeof(cpi_plugin),
    .abi_minor_built  = CPI_TARGET_MINOR,
    .abi_minor_needed = 0,
    .concurrency      = CPI_CONCURRENCY_ANY,
    .id               = "@ID@-plugin",
    .version          = "0.1.0",
    .coder_count      = 1,
    .coder            = coder,
    .get              = get,
};

const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    (void)host, (void)error;
    return &plugin;
}
