/* Wrong: the image has an undefined density_unit. */
#define CHANGE_INFO info->density_unit = 9;
#include "plugin.h"
