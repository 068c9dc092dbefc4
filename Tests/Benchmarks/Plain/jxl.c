/* Decodes a JPEG XL still with libjxl, without threads: cc -O2 jxl.c -ljxl */
#include <fcntl.h>
#include <jxl/decode.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

int main(int count, char **words) {
    int file = count > 1 ? open(words[1], O_RDONLY) : -1;
    struct stat facts;
    if (file < 0 || fstat(file, &facts)) return 2;
    const unsigned char *bytes = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    JxlDecoder *decoder = JxlDecoderCreate(NULL);
    JxlDecoderSubscribeEvents(decoder, JXL_DEC_BASIC_INFO | JXL_DEC_FULL_IMAGE);
    JxlDecoderSetInput(decoder, bytes, (size_t)facts.st_size);
    JxlDecoderCloseInput(decoder);
    JxlPixelFormat format = {3, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
    for (;;) {
        JxlDecoderStatus status = JxlDecoderProcessInput(decoder);
        if (status == JXL_DEC_BASIC_INFO) {
            JxlBasicInfo info;
            JxlDecoderGetBasicInfo(decoder, &info);
            format.num_channels = info.num_color_channels + (info.alpha_bits ? 1 : 0);
            if (info.bits_per_sample > 8) format.data_type = JXL_TYPE_UINT16;
        } else if (status == JXL_DEC_NEED_IMAGE_OUT_BUFFER) {
            size_t size = 0;
            JxlDecoderImageOutBufferSize(decoder, &format, &size);
            JxlDecoderSetImageOutBuffer(decoder, &format, malloc(size), size);
        } else {
            return status == JXL_DEC_FULL_IMAGE || status == JXL_DEC_SUCCESS ? 0 : 4;
        }
    }
}
