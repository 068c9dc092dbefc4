/* Wrong: the manifest is cut off in the middle of an object. */
#define MANIFEST "{ \"schema\": 1, \"plugin\": { \"id\": "
#include "plugin.h"
