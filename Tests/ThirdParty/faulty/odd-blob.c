/* Wrong: it hands out metadata of a kind that does not exist. */
#define BLOB_BYTES 8
#define BLOB_KIND  99
#include "plugin.h"
