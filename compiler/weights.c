/* Opening and closing where parameters come from. */
#include "weights.h"

#include "quote.h"
#include "tensor_read.h"

struct weights *weights_open(struct arena *arena, struct diags *diags, const char *path, struct span span)
{
    struct weights *weights = ARENA_NEW(arena, struct weights);
    const char *message;
    weights->arena = arena;
    weights->path = path;
    switch (safetensors_open(arena, path, &weights->file, &message)) {
    case SAFETENSORS_OK:
        return weights;
    case SAFETENSORS_UNREADABLE:
        diag_environment(diags, &span, "cannot read the weights file '%s': %s", path, message);
        break;
    case SAFETENSORS_BROKEN:
        diag_error(diags, DIAG_WEIGHTS_FILE, span, "'%s' is no safetensors file: %s", path, message);
        break;
    }
    return NULL;
}

struct weights *weights_random(struct arena *arena, uint64_t seed)
{
    struct weights *weights = ARENA_NEW(arena, struct weights);
    weights->arena = arena;
    weights->seed = seed;
    return weights;
}

void weights_close(struct weights *weights)
{
    safetensors_close(&weights->file);
}
