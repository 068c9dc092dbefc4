/* Wrong: it writes one byte after each row, outside of the surface. */
#define AFTER_ROW if (y + 1 < d->height) row[bytes] = 0x77;
#include "plugin.h"
