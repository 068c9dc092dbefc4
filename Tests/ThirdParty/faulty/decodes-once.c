/* Wrong: it decodes a frame only once; asked again, it answers CPI_OK and writes nothing. */
#define ON_DECODE if (d->base.state == DECODED) return CPI_OK;
#include "plugin.h"
