/* The bytes of a protobuf message, before they are unpacked. */
#ifndef MLPC_ONNX_WIRE_H
#define MLPC_ONNX_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/* Messages in messages nest at most `depth` deep, and each ends where it says. protobuf-c calls itself for every
 * level, so a file could make it run out of stack. */
bool wire_check(const ProtobufCMessageDescriptor *type, const unsigned char *bytes, size_t size, int depth);

#endif
