/* The library that missing-library.c is linked against; it is deleted after linking. */
int absent_answer(void);
int absent_answer(void) { return 42; }
