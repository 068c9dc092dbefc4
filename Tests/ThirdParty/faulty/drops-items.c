/* Wrong: the encoder takes every item, but writes only the first two. */
#define ENCODES_ITEMS
#define WRITES_ITEM(number) ((number) < 3)
#include "plugin.h"
