/* Wrong: it closes every descriptor of the process. */
#include <unistd.h>
#define ON_DECODE for (int i = 0; i < 1024; i++) close(i);
#include "plugin.h"
