/* Delivers 4 MiB of metadata for every index; a host must limit the sum. */
#include <coder_plugin.h>

static uint8_t bytes[4 << 20];

static cpi_status hand_out(cpi_decoder *decoder, uint32_t index, cpi_blob *blob, cpi_error *error) {
    (void)decoder, (void)index, (void)error;
    blob->kind = CPI_BLOB_TEXT;
    blob->key = "endless";
    blob->bytes = bytes;
    blob->length = sizeof bytes;
    return CPI_OK;
}

#define BLOB hand_out
#include "../bad/plugin.h"
