/* Wrong: it delivers metadata of an undefined kind. */
#define BLOB_BYTES 8
#define BLOB_KIND  99
#include "plugin.h"
