/* Wrong: there are two manifests, and nothing says which one holds. */
#include "plugin.h"

#define cpi_manifest_note another_note
CPI_MANIFEST(MANIFEST);
