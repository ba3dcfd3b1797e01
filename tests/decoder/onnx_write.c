#include "decoder/onnx_write.h"

#include <unistd.h>

uint8_t onnx_hole[1];

typedef struct sink {
    ProtobufCBuffer base;
    FILE *stream;
    bool failed;
} sink;

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *data)
{
    sink *const to = (sink *)buffer;
    const bool done =
        data == onnx_hole ? fseeko(to->stream, (off_t)size, SEEK_CUR) == 0 : fwrite(data, 1, size, to->stream) == size;
    to->failed = to->failed || !done;
}

bool onnx_write_end(FILE *stream, int64_t size)
{
    const bool written = fflush(stream) == 0 && ftruncate(fileno(stream), (off_t)size) == 0;
    return (fclose(stream) == 0) && written;
}

bool onnx_write(const Onnx__ModelProto *model, const char *path)
{
    sink to = {{append}, fopen(path, "wb"), false};
    if (to.stream == NULL) {
        return false;
    }
    const size_t size = onnx__model_proto__pack_to_buffer(model, &to.base);
    return onnx_write_end(to.stream, (int64_t)size) && !to.failed;
}
