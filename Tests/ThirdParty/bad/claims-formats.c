/*
 * Not wrong by itself: one of several plugins that claim one format. -DNAME=first -DPRIORITY=200 -DCOLOR=0x00ff00 tell
 * them apart; -DFORMAT=png -DSIGNATURE=89504e47 claim a format that somebody else serves.
 */
#include "plugin.h"
