/* Wrong: it lists two items, and the facts of the image do not tell of them. */
#define ITEM_ROLE CPI_ITEM_PRIMARY
#define HAS_ITEMS 0
#include "plugin.h"
