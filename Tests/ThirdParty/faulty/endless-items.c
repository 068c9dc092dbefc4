/* Wrong: behind the last item there are damaged ones without end. */
#define ITEM_ROLE CPI_ITEM_PRIMARY
#define BEHIND_ITEMS fail(&d->base, error, CPI_REFUSED, "there are two items")
#include "plugin.h"
