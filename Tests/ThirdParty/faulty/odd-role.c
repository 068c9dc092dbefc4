/* Wrong: its one item has a role without a definition. */
#define ITEM_ROLE 9
#include "plugin.h"
