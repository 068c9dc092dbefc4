/*
 * descriptors.h - closing and checking descriptors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

/* Closes every descriptor from `first` on. */
void close_from(int first);

/* Whether the descriptor is a SOCK_SEQPACKET socket. */
int is_packet_socket(int descriptor);

#endif
