/* Wrong: the image has a region_cost without a definition. */
#define CHANGE_INFO info->region_cost = 9;
#include "plugin.h"
