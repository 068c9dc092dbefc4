/* Wrong: it accepts a region of the image's size that lies outside of the image. */
#define LOOKS_AT_REGION (region.width != d->width)
#include "plugin.h"
