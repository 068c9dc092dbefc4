/* Wrong: it describes every item as the first. */
#define ITEM_ROLE CPI_ITEM_PRIMARY
#define DESCRIBED(i) 0
#include "plugin.h"
