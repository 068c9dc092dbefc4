/* Wrong: it fills structs of the host to their length as it knows it. */
#define STRUCT_SIZE(theirs, ours) ((void)(theirs), (ours))
#include "plugin.h"
