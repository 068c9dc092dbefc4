/* Wrong: the image has an undefined region_cost. */
#define CHANGE_INFO info->region_cost = 9;
#include "plugin.h"
