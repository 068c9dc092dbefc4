/* Wrong: the entry point refuses with a reason. */
#define OWN_ENTRY
#include "plugin.h"

const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    (void)host, (void)plugin;
    error->code = CPI_UNSUPPORTED;
    strcpy(error->message, "this machine has no lightning");
    return NULL;
}
