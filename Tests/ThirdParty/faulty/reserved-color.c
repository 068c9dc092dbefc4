/* Wrong: a reserved word of the color is not zero. */
#define CHANGE_INFO info->color.reserved[1] = 0xdeadbeef;
#include "plugin.h"
