/* Wrong: it needs libcoderhost-absent.so.3, which is there when this is linked and gone afterwards. */
#include "plugin.h"

int absent_answer(void);
__attribute__((used)) static int ask(void) { return absent_answer(); }
