/* Wrong: it decodes another region than the one that is asked for. */
#define MANIFEST_ROLES ", \"region\""
#define MORE_ROLES     CPI_CODER_REGION
#define PART_X         (d->width - part.width - part.x)
#include "plugin.h"
