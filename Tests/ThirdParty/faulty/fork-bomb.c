/* Wrong: it starts processes that start processes. */
#include <unistd.h>
/* The number is bounded for whoever runs this without the kit. */
#define ON_DECODE                                                                                                      \
    for (int i = 0; i < 20; i++)                                                                                       \
        if (fork() == 0) sleep(5), _exit(0);
#include "plugin.h"
