/* Wrong: it decodes the first item, regardless of the selection. */
#define ITEM_ROLE CPI_ITEM_PRIMARY
#define CHOSEN(i) 0
#include "plugin.h"
