/* Decodes the first page of a TIFF file with libtiff's strips or tiles: cc -O2 tiff.c -ltiff */
#include <stdio.h>
#include <stdlib.h>
#include <tiffio.h>

int main(int count, char **words) {
    TIFFSetWarningHandler(NULL);
    TIFF *file = count > 1 ? TIFFOpen(words[1], "r") : NULL;
    if (!file) return 2;
    uint16_t compression = 0, photometric = 0;
    TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &compression);
    TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &photometric);
    if (compression == COMPRESSION_JPEG && photometric == PHOTOMETRIC_YCBCR) {
        TIFFSetField(file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    }
    /* All pixels are kept, as a caller would. */
    int tiled = TIFFIsTiled(file);
    uint32_t blocks = tiled ? TIFFNumberOfTiles(file) : TIFFNumberOfStrips(file);
    tmsize_t size = tiled ? TIFFTileSize(file) : TIFFStripSize(file);
    unsigned char *pixels = malloc((size_t)blocks * (size_t)size);
    if (!pixels) return 3;
    for (uint32_t block = 0; block < blocks; block++) {
        unsigned char *place = pixels + (size_t)block * (size_t)size;
        tmsize_t got = tiled ? TIFFReadEncodedTile(file, block, place, size)
                             : TIFFReadEncodedStrip(file, block, place, size);
        if (got < 0) return 4;
    }
    TIFFClose(file);
    return 0;
}
