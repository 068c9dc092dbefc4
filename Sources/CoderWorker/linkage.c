/*
 * The linker is run by Swift's driver, which adds the Swift runtime to every program. Its own tool for reading link
 * options out of object files puts what stands here in front of that library, so that it is taken only if something
 * needs it; nothing does.
 */
__attribute__((section(".swift1_autolink_entries"), used)) static const char options[] = "-Wl,--as-needed";
