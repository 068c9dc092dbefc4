/* Wrong: there is no manifest, so the plugin cannot be identified without running it. */
#define NO_MANIFEST
#include "plugin.h"
