/* Wrong: it decodes a different region than requested. */
#define MANIFEST_ROLES ", \"region\""
#define MORE_ROLES     CPI_CODER_REGION
#define PART_X         (d->width - part.width - part.x)
#include "plugin.h"
