/* Wrong: it needs libcoderhost-absent.so.3, which is deleted after linking. */
#include "plugin.h"

int absent_answer(void);
__attribute__((used)) static int ask(void) { return absent_answer(); }
