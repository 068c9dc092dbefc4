/* Wrong: it lists two items, but the image facts do not announce them. */
#define ITEM_ROLE CPI_ITEM_PRIMARY
#define HAS_ITEMS 0
#include "plugin.h"
