/* Wrong: a rewrite reports dropped items, but all items are in the output. */
#define ITEM_ROLE CPI_ITEM_PRIMARY
#define REWRITES
#define OUTCOME_FLAGS CPI_REWRITE_DROPPED_ITEMS
#include "plugin.h"
