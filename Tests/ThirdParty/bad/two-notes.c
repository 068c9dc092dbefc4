/* Wrong: there are two manifests, so the valid one is undefined. */
#include "plugin.h"

#define cpi_manifest_note another_note
CPI_MANIFEST(MANIFEST);
