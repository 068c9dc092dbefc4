/*
 * listener.h - the guardian's side of the first filter: system calls that are put to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LISTENER_H
#define LISTENER_H

/* Makes ready to answer at a descriptor. 0, or errno. */
int listener_begin(int descriptor);

/*
 * Answers one call: until it is sealed the system goes on with it, from then on it is refused. Returns the number of a
 * call that no library gets along without, and that is therefore a violation and not answered; -1 for every other.
 *
 * That decision needs neither the arguments nor the process: what they point to, and who it is, may change meanwhile.
 */
int listener_answer(int descriptor, int is_sealed);

#endif
