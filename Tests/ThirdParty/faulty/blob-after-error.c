/* Wrong: blob succeeds after an error. */
#include <coder_plugin.h>
static cpi_status hand_out(cpi_decoder *d, uint32_t index, cpi_blob *blob, cpi_error *error) {
    return (void)d, (void)index, (void)blob, (void)error, CPI_END;
}
#define HAND_OUT hand_out
#include "plugin.h"
