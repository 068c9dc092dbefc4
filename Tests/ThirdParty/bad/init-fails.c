/* Wrong: init, which runs once before the first session, fails. */
#define INIT init
#include <coder_plugin.h>
static cpi_status init(cpi_error *error);
#include "plugin.h"

static cpi_status init(cpi_error *error) {
    error->code = CPI_INTERNAL;
    strcpy(error->message, "the tables could not be built");
    return CPI_INTERNAL;
}
