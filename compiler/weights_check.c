/* The file's tensors against what the graph asks for: each source exists, has a type that converts, and the shape
 * that its function needs. */
#include "weights.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- Tensors that are not there ---- */

enum { LISTED_MAX = 4, SUGGESTIONS_MAX = 20 };

struct absent {
    const struct param *source;
    size_t order;
};

struct absents {
    VEC(struct absent) list;
    int suggestions;                /* made so far: each one reads every name of the file */
};

static int compare_absents(const void *left, const void *right)
{
    const struct absent *a = left, *b = right;
    if (a->source->span.begin != b->source->span.begin)
        return a->source->span.begin < b->source->span.begin ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static size_t prefix_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - name) : 0;
}

static bool is_of_one_prefix(const char *a, const char *b)
{
    size_t length = prefix_length(a);
    return length && length == prefix_length(b) && !strncmp(a, b, length);
}

/* Weight, bias, mean, variance: the order of the roles, among tensors of one prefix. */
static void sort_by_role(struct absent *absent, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t j = i; j && absent[j].source->role < absent[j - 1].source->role &&
                           is_of_one_prefix(absent[j].source->tensor, absent[j - 1].source->tensor); j--) {
            struct absent other = absent[j];
            absent[j] = absent[j - 1];
            absent[j - 1] = other;
        }
    }
}

/* "'a', 'b' and 7 more" */
static const char *list_text(struct arena *arena, const struct absent *absent, size_t count)
{
    size_t shown = count <= LISTED_MAX ? count : LISTED_MAX;
    const char *text = quote(arena, absent[0].source->tensor);
    for (size_t i = 1; i < shown; i++)
        text = arena_format(arena, "%s%s%s", text, i + 1 < count ? ", " : " and ",
                            quote(arena, absent[i].source->tensor));
    return shown < count ? arena_format(arena, "%s and %zu more", text, count - shown) : text;
}

/* For "fc.weight.weight", where the file has "fc.weight": "fc" should have been given. */
static const char *find_prefix(const struct weights *weights, const char *tensor)
{
    const char *given = arena_copy(weights->arena, tensor, prefix_length(tensor));
    if (!prefix_length(given) || !safetensors_find(&weights->file, given))
        return NULL;
    return arena_copy(weights->arena, given, prefix_length(given));
}

static const char *suggestion_text(const struct weights *weights, const char *tensor)
{
    const char *prefix = find_prefix(weights, tensor);
    if (prefix)
        return arena_format(weights->arena, "; give the prefix %s", quote(weights->arena, prefix));
    struct nearest nearest = nearest_to(tensor);
    for (size_t i = 0; i < weights->file.count; i++)
        nearest_offer(&nearest, weights->file.tensors[i].name);
    return nearest_text(weights->arena, &nearest);
}

/* What one place of the spec asks for in vain is one error. */
static void fail_absent(const struct weights *weights, struct absents *absents, size_t first, size_t count,
                        struct diags *diags)
{
    struct absent *absent = &absents->list.at[first];
    sort_by_role(absent, count);
    const char *suggestion = "";
    if (absents->suggestions++ < SUGGESTIONS_MAX)
        suggestion = suggestion_text(weights, absent->source->tensor);
    diag_error(diags, DIAG_TENSOR_MISSING, absent->source->span, "%s needs %s, which %s not in '%s'%s",
               absent->source->user, list_text(weights->arena, absent, count), count == 1 ? "is" : "are",
               weights->path, suggestion);
}

static void fail_absents(const struct weights *weights, struct absents *absents, struct diags *diags)
{
    if (!absents->list.count)
        return;
    qsort(absents->list.at, absents->list.count, sizeof *absents->list.at, compare_absents);
    for (size_t first = 0, end; first < absents->list.count; first = end) {
        uint32_t begin = absents->list.at[first].source->span.begin;
        for (end = first + 1; end < absents->list.count && absents->list.at[end].source->span.begin == begin;)
            end++;
        fail_absent(weights, absents, first, end - first, diags);
    }
}

/* ---- Tensors that are ---- */

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
    struct absents absents = {.suggestions = 0};
    for (size_t i = 0; weights->path && i < graph->sources.count; i++) {
        const struct param *source = graph->sources.at[i];
        const struct tensor *tensor = safetensors_find(&weights->file, source->tensor);
        struct absent absent = {source, i};
        if (tensor)
            good &= check_shape(weights, source, tensor, diags) && check_dtype(weights, source, tensor, diags);
        else
            VEC_PUSH(weights->arena, &absents.list, absent);
    }
    fail_absents(weights, &absents, diags);
    return good && !absents.list.count;
}
