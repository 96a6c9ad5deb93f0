/* The file's tensors against what the graph asks for: each source exists, has a type that converts, and the shape
 * that its function needs. */
#include "weights.h"

#include <inttypes.h>

#include "convert.h"
#include "nearest.h"
#include "quote.h"
#include "tensor_read.h"

/* "[29, 53]" */
static const char *shape_text(struct arena *arena, const int64_t *shape, int rank)
{
    const char *text = "[";
    for (int i = 0; i < rank && i < 8; i++)
        text = arena_format(arena, "%s%s%" PRId64, text, i ? ", " : "", shape[i]);
    return arena_format(arena, "%s%s]", text, rank > 8 ? ", ..." : "");
}

static bool is_matrix(const struct tensor *tensor, int64_t rows, int64_t cols)
{
    return tensor->rank == 2 && tensor->shape[0] == rows && tensor->shape[1] == cols;
}

static bool is_vector(const struct tensor *tensor, int64_t size)
{
    return tensor->rank == 1 && tensor->shape[0] == size;
}

static bool check_exists(const struct weights *weights, const struct param *source, struct diags *diags)
{
    if (safetensors_find(&weights->file, source->tensor))
        return true;
    struct nearest nearest = nearest_to(source->tensor);
    for (size_t i = 0; i < weights->file.count; i++)
        nearest_offer(&nearest, weights->file.tensors[i].name);
    diag_error(diags, DIAG_TENSOR_MISSING, source->span, "%s needs %s, which is not in '%s'%s", source->user,
               quote(weights->arena, source->tensor), weights->path, nearest_text(weights->arena, &nearest));
    return false;
}

static bool check_dtype(const struct weights *weights, const struct param *source, const struct tensor *tensor,
                        struct diags *diags)
{
    enum stored stored;
    if (convert_stored(tensor->dtype, &stored))
        return true;
    diag_error(diags, DIAG_TENSOR_TYPE, source->span, "%s holds %s, but %s needs F64, F32, F16 or BF16",
               quote(weights->arena, tensor->name), tensor->dtype, source->user);
    return false;
}

static bool fits(const struct param *source, const struct tensor *tensor)
{
    if (source->role == ROLE_LINEAR_WEIGHT)
        return source->transposed ? is_matrix(tensor, source->cols, source->rows)
                                  : is_matrix(tensor, source->rows, source->cols);
    if (source->role == ROLE_ROW && (is_matrix(tensor, 1, source->cols) || (!tensor->rank && source->cols == 1)))
        return true;
    return is_vector(tensor, source->cols);
}

/* What turns a weight that lies the other way round into a good one. */
static const char *shape_hint(const struct param *source, const struct tensor *tensor)
{
    struct param other = *source;
    other.transposed = !source->transposed;
    if (source->role != ROLE_LINEAR_WEIGHT || !fits(&other, tensor))
        return "";
    return source->transposed ? "; it fits without transposed=true" : "; it fits with transposed=true";
}

static bool check_shape(const struct weights *weights, const struct param *source, const struct tensor *tensor,
                        struct diags *diags)
{
    struct arena *arena = weights->arena;
    const bool matrix = source->role == ROLE_LINEAR_WEIGHT;
    const int64_t first = matrix && !source->transposed ? source->rows : source->cols;
    const int64_t needed[] = {first, source->transposed ? source->rows : source->cols};
    if (fits(source, tensor))
        return true;
    diag_error(diags, DIAG_TENSOR_SHAPE, source->span, "%s is %s, but %s needs %s%s",
               quote(arena, tensor->name), shape_text(arena, tensor->shape, tensor->rank),
               source->transposed ? "linear(transposed=true)" : source->user,
               shape_text(arena, needed, matrix ? 2 : 1), shape_hint(source, tensor));
    return false;
}

bool weights_check(const struct weights *weights, const struct graph *graph, struct diags *diags)
{
    bool good = true;
    for (size_t i = 0; weights->path && i < graph->sources.count; i++) {
        const struct param *source = graph->sources.at[i];
        if (!check_exists(weights, source, diags)) {
            good = false;
            continue;
        }
        const struct tensor *tensor = safetensors_find(&weights->file, source->tensor);
        good &= check_shape(weights, source, tensor, diags) && check_dtype(weights, source, tensor, diags);
    }
    return good;
}
