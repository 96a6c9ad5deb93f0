#include "wire.h"

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct cursor {
    const unsigned char *at, *end;
};

static bool take_varint(struct cursor *cursor, uint64_t *number)
{
    *number = 0;
    for (int shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        unsigned char byte = *cursor->at++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool skip(struct cursor *cursor, uint64_t bytes)
{
    if (bytes > (uint64_t)(cursor->end - cursor->at))
        return false;
    cursor->at += bytes;
    return true;
}

static bool take_bytes(struct cursor *cursor, const ProtobufCFieldDescriptor *field, int depth)
{
    uint64_t length;
    if (!take_varint(cursor, &length))
        return false;
    const unsigned char *begin = cursor->at;
    if (!skip(cursor, length))
        return false;
    return !field || field->type != PROTOBUF_C_TYPE_MESSAGE || wire_check(field->descriptor, begin, length, depth - 1);
}

bool wire_check(const ProtobufCMessageDescriptor *type, const unsigned char *bytes, size_t size, int depth)
{
    struct cursor cursor = {bytes, bytes + size};
    uint64_t tag, number;
    if (depth <= 0)
        return false;
    while (cursor.at < cursor.end) {
        if (!take_varint(&cursor, &tag))
            return false;
        bool good = false;
        switch (tag & 7) {
        case WIRE_VARINT:
            good = take_varint(&cursor, &number);
            break;
        case WIRE_64:
            good = skip(&cursor, 8);
            break;
        case WIRE_BYTES:
            good = take_bytes(&cursor, protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3)), depth);
            break;
        case WIRE_32:
            good = skip(&cursor, 4);
            break;
        }
        if (!good)
            return false;
    }
    return true;
}
