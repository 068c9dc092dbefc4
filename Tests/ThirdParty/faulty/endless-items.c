/* Wrong: it reports endless damaged items after the last one. */
#define ITEM_ROLE CPI_ITEM_PRIMARY
#define BEHIND_ITEMS fail(&d->base, error, CPI_REFUSED, "there are two items")
#include "plugin.h"
