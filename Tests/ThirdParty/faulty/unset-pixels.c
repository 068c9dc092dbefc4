/* Wrong: it does not write the last sample of the surface. */
#define ON_DECODE const uint8_t kept = surface->pixels[(d->height - 1) * surface->stride + bytes - 1];
#define AFTER_ROW if (y + 1 == d->height) row[bytes - 1] = kept;
#include "plugin.h"
