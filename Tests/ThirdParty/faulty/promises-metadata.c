/* Wrong: its manifest promises Exif, and it takes none. */
#define MANIFEST_METADATA "\"exif\""
#include "plugin.h"
