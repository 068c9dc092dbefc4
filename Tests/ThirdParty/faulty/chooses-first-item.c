/* Wrong: whichever item is selected, it decodes the first. */
#define ITEM_ROLE CPI_ITEM_PRIMARY
#define CHOSEN(i) 0
#include "plugin.h"
