/* Wrong: it fills the host's structs to its own size of them. */
#define STRUCT_SIZE(theirs, ours) ((void)(theirs), (ours))
#include "plugin.h"
