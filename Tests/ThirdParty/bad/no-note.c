/* Wrong: there is no manifest, so nothing says who this is without running it. */
#define NO_MANIFEST
#include "plugin.h"
