#include "external.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../file_map.h"
#include "../quote.h"
#include "onnx.pb-c.h"

static const char *entry(const Onnx__TensorProto *proto, const char *key)
{
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const Onnx__StringStringEntryProto *pair = proto->external_data[i];
        if (pair->key && !strcmp(pair->key, key))
            return pair->value ? pair->value : "";
    }
    return NULL;
}

/* A decimal number; `fallback` where there is none. */
static bool read_number(const char *text, size_t fallback, size_t *number)
{
    char *end;
    *number = fallback;
    if (!text)
        return true;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && CHECKED_ADD(parsed, 0, number);
}

static bool climbs(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (at[0] == '.' && at[1] == '.' && (at[2] == '/' || !at[2]))
            return true;
        if (!*at)
            break;
    }
    return false;
}

/* The file's real path, if that is below the model's folder: a symbolic link may lead out of it. */
static const char *resolve(struct model *model, const char *location)
{
    const char *slash = strrchr(model->path, '/');
    const char *folder = slash ? arena_format(model->arena, "%.*s/", (int)(slash - model->path), model->path) : "./";
    char *real_folder = realpath(folder, NULL);
    char *real = realpath(arena_format(model->arena, "%s%s", folder, location), NULL);
    size_t length = real_folder ? strlen(real_folder) : 0;
    bool below = real && length && !strncmp(real, real_folder, length) &&
                 (real[length] == '/' || real_folder[length - 1] == '/');
    const char *path = below ? arena_copy(model->arena, real, strlen(real)) : NULL;
    free(real_folder);
    free(real);
    return path;
}

static const struct mapping *open_file(struct model *model, const char *path)
{
    for (size_t i = 0; i < model->files.count; i++) {
        if (!strcmp(model->files.at[i].path, path))
            return &model->files.at[i];
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct mapping mapping = {.path = path};
    void *bytes = NULL;
    bool mapped = file >= 0 && !file_map(file, &bytes, &mapping.size);
    mapping.bytes = bytes;
    if (file >= 0)
        close(file);
    if (!mapped)
        return NULL;
    VEC_PUSH(model->arena, &model->files, mapping);
    model->budget += (uint64_t)mapping.size * COMPUTED_PER_BYTE;
    return &model->files.at[model->files.count - 1];
}

const unsigned char *external_data(struct model *model, const struct Onnx__TensorProto *proto, size_t size,
                                   const char **reason)
{
    static const unsigned char none[1];
    const char *location = entry(proto, "location");
    size_t offset, length;
    *reason = "does not say where its data stand";
    if (!location || !*location)
        return NULL;
    const char *quoted = quote(model->arena, location);
    *reason = arena_format(model->arena, "has its data in %s, outside of the model's folder", quoted);
    if (*location == '/' || climbs(location))
        return NULL;
    const char *path = resolve(model, location);
    *reason = arena_format(model->arena, "has its data in %s, which is not a file in the model's folder", quoted);
    const struct mapping *mapping = path ? open_file(model, path) : NULL;
    if (!mapping)
        return NULL;
    *reason = arena_format(model->arena, "has its data in %s, at a place that is not there", quoted);
    if (!read_number(entry(proto, "offset"), 0, &offset) || offset > mapping->size ||
        !read_number(entry(proto, "length"), mapping->size - offset, &length) || length > mapping->size - offset)
        return NULL;
    *reason = arena_format(model->arena, "has another number of bytes in %s than its shape says", quoted);
    if (length != size)
        return NULL;
    return size ? mapping->bytes + offset : none;
}

void external_close(struct model *model)
{
    for (size_t i = 0; i < model->files.count; i++) {
        file_unmap((void *)(uintptr_t)model->files.at[i].bytes, model->files.at[i].size);
    }
    model->files.count = 0;
}
