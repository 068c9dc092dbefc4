/* Wrong: it leaks 256 MiB per image, 10 GiB after 40 images. */
#define ON_DECODE                                                                                                      \
    {                                                                                                                  \
        const size_t lost   = (size_t)256 << 20;                                                                       \
        void        *memory = malloc(lost);                                                                            \
        if (memory) memset(memory, 1, lost);                                                                           \
    }
#include "plugin.h"
