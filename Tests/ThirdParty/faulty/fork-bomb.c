/* Wrong: it starts processes that start processes. */
#include <unistd.h>
/* The number is limited, in case the plugin runs without the kit. */
#define ON_DECODE                                                                                                      \
    for (int i = 0; i < 20; i++)                                                                                       \
        if (fork() == 0) sleep(5), _exit(0);
#include "plugin.h"
