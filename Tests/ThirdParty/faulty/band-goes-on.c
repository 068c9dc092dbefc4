/* Wrong: a band from row 0 continues where the last band ended. */
#define BANDS  1
#define PART_Y (d->part_rows % d->height)
#include "plugin.h"
