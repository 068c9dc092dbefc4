/* Wrong: its manifest declares Exif, but it accepts none. */
#define MANIFEST_METADATA "\"exif\""
#include "plugin.h"
