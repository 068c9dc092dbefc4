/* Wrong: it decodes a frame only once; a second decode returns CPI_OK without writing pixels. */
#define ON_DECODE if (d->base.state == DECODED) return CPI_OK;
#include "plugin.h"
