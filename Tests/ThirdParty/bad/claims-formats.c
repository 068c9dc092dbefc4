/*
 * Correct by itself: one of several plugins that claim the same format. -DNAME=first -DPRIORITY=200 -DCOLOR=0x00ff00
 * distinguish them; -DFORMAT=png -DSIGNATURE=89504e47 claim a format of another plugin.
 */
#include "plugin.h"
