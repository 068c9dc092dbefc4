/* Wrong: the image has a density_unit without a definition. */
#define CHANGE_INFO info->density_unit = 9;
#include "plugin.h"
