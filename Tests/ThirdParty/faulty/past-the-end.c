/* Wrong: it writes eight bytes after the last pixel of the surface. */
#define AFTER_ROW if (y + 1 == d->height) memset(row + bytes, row[bytes - 1], 8);
#include "plugin.h"
