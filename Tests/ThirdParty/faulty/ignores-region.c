/* Wrong: it does not see that a region of the image's size lies beside the image. */
#define LOOKS_AT_REGION (region.width != d->width)
#include "plugin.h"
