#!/bin/sh
# Makes the header of a minor that does not exist yet: every struct that may grow has grown.
#
#     headers.sh <include folder of today> <folder to write>
#
# Frozen for the life of the major, and so left alone: cpi_rect, cpi_pixel_format, cpi_rational, cpi_table,
# cpi_color, cpi_chromaticities, cpi_mastering.
set -eu
mkdir -p "$2/cpi"
cp "$1/coder_plugin.h" "$2/"
for header in "$1"/cpi/*.h; do
    sed -e 's/^#define CPI_ABI_MINOR .*/#define CPI_ABI_MINOR 7/' \
        -e '/^} cpi_\(rect\|pixel_format\|rational\|table\|color\|chromaticities\|mastering\);/b' \
        -e 's/^} cpi_[a-z_]*;/    uint64_t since_1_7[3];\n&/' "$header" > "$2/cpi/${header##*/}"
done
