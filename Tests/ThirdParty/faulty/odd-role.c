/* Wrong: its only item has an undefined role. */
#define ITEM_ROLE 9
#include "plugin.h"
