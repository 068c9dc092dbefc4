/* Wrong: a rewrite states that it dropped items, and all of them are in the output. */
#define ITEM_ROLE CPI_ITEM_PRIMARY
#define REWRITES
#define OUTCOME_FLAGS CPI_REWRITE_DROPPED_ITEMS
#include "plugin.h"
