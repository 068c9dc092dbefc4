/* Wrong: it does not report the changed part before the image is complete. */
#define DIRTY_STATES DECODED
#include "plugin.h"
