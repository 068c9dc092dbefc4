/*
 * descriptors.h - what stays open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

/* Closes every descriptor from `first` on. */
void close_from(int first);

/* Whether there is a socket for packets. */
int is_packet_socket(int descriptor);

#endif
