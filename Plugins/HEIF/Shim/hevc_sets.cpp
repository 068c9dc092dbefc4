// hevc_sets.cpp - finds the sequence parameter sets of HEVC that libde265 1.0.11 refuses.
//
// libde265 writes lines like "SPS error: TB > CB" to standard error about them. de265_disable_logging and
// de265_set_verbosity have no effect on these lines. So the decoder never passes such a set to libde265.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <algorithm>

namespace {

// Reads the first bytes of a unit bit by bit, without emulation prevention bytes (Rec. ITU-T H.265 section 7.4.2).
class Bits {
public:
    Bits(const uint8_t *unit, size_t size)
    {
        int zeros = 0;
        for (size_t at = 0; at < size && count < sizeof bytes; at++) {
            if (zeros >= 2 && unit[at] == 3) {
                zeros = 0;
                continue;
            }
            zeros = unit[at] == 0 ? zeros + 1 : 0;
            bytes[count++] = unit[at];
        }
    }

    // Whether more bits were read than there are; the reader then returns zeros.
    bool is_exhausted() const { return position > count * 8; }

    uint32_t read(unsigned bits)
    {
        uint32_t value = 0;
        for (; bits > 0; bits--, position++) {
            value = value << 1 | (position < count * 8 ? bytes[position / 8] >> (7 - position % 8) & 1 : 0);
        }
        return value;
    }

    void skip(size_t bits) { position += bits; }

    // Reads an Exp-Golomb number (section 9.2); libde265 accepts at most 20 leading zeros.
    uint32_t number()
    {
        unsigned zeros = 0;
        while (zeros < 21 && !is_exhausted() && read(1) == 0) zeros++;
        return zeros > 20 ? UINT32_MAX : (1u << zeros) - 1 + read(zeros);
    }

private:
    uint8_t bytes[512];
    size_t count = 0, position = 0;
};

}

// Rec. ITU-T H.265 sections 7.3.1.2 (header), 7.3.2.2.1 (sequence parameter set), 7.3.3 (profile and level).
bool shim_libde265_prints_about(const uint8_t *unit, size_t size)
{
    if (size < 2 || (unit[0] >> 1 & 0x3F) != 33) return false;
    Bits bits(unit, size);
    bits.skip(16 + 4);
    const uint32_t layers = bits.read(3);
    bits.skip(1 + 88 + 8);
    uint32_t present = 0;
    for (uint32_t i = 0; i < layers; i++) present = present << 2 | bits.read(2);
    if (layers > 0) bits.skip(2 * (8 - layers));
    for (uint32_t i = layers; i > 0; i--) {
        const uint32_t flags = present >> (2 * (i - 1)) & 3;
        bits.skip((flags & 2 ? 88 : 0) + (flags & 1 ? 8 : 0));
    }
    bits.number();
    if (bits.number() == 3) bits.skip(1);
    const uint32_t width = bits.number(), height = bits.number();
    if (bits.read(1)) {
        for (int i = 0; i < 4; i++) bits.number();
    }
    const uint32_t luma = bits.number(), colors = bits.number();
    bits.number();
    const bool has_all_layers = bits.read(1);
    for (uint32_t i = has_all_layers ? 0 : layers; i <= layers; i++) {
        for (int field = 0; field < 3; field++) bits.number();
    }
    // Logarithms of the sides of coding blocks (3 to 6) and of transform blocks (2 to 5).
    const uint64_t coding = 3 + uint64_t(bits.number()), tree = coding + bits.number();
    const uint64_t smallest = 2 + uint64_t(bits.number()), largest = smallest + bits.number();
    const uint32_t inter = bits.number(), intra = bits.number();
    if (bits.is_exhausted() || luma > 8 || colors > 8 || tree > 6) return true;
    if (smallest > coding || largest > std::min<uint64_t>(tree, 5)) return true;
    if (width % (1u << coding) || height % (1u << coding)) return true;
    return inter > tree - smallest || intra > tree - smallest;
}
