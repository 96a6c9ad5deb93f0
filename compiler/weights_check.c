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
    for (int i = 0; i < rank && i < TENSOR_SIZES_KEPT; i++)
        text = arena_format(arena, "%s%s%" PRId64, text, i ? ", " : "", shape[i]);
    return arena_format(arena, "%s%s]", text, rank > TENSOR_SIZES_KEPT ? ", ..." : "");
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

enum { SUGGESTIONS_MAX = 20 };

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

static const char *list_text(struct arena *arena, const struct absent *absent, size_t count)
{
    const char **names = ARENA_ARRAY(arena, const char *, count);
    for (size_t i = 0; i < count; i++)
        names[i] = absent[i].source->tensor;
    return quote_list(arena, names, count);
}

/* What to say behind the error, and what would mend it: `instead` at the place of the name, or `behind` it. */
struct advice {
    const char *text, *instead, *behind;
};

static const char *prefix_of(const struct weights *weights, const char *tensor)
{
    return arena_copy(weights->arena, tensor, prefix_length(tensor));
}

/* For "fc.weight.weight", where the file has "fc.weight": "fc" should have been given. */
static const char *find_prefix(const struct weights *weights, const char *tensor)
{
    const char *given = prefix_of(weights, tensor);
    return prefix_length(given) && safetensors_find(&weights->file, given) ? prefix_of(weights, given) : NULL;
}

/* A bias alone is missing, and the function can do without. */
static bool lacks_bias(const struct weights *weights, const struct param *source)
{
    const char *prefix = prefix_of(weights, source->tensor);
    const char *weight = arena_format(weights->arena, "%s.weight", prefix);
    return (source->role == ROLE_LINEAR_BIAS || source->role == ROLE_NORM_BIAS) && strcmp(source->user, "batchnorm") &&
           !strcmp(source->tensor, arena_format(weights->arena, "%s.bias", prefix)) &&
           safetensors_find(&weights->file, weight);
}

/* The spec names a prefix where what it asks for has one more part. */
static const char *as_written(const struct weights *weights, const struct param *source, const char *tensor,
                              struct diags *diags)
{
    const char *given = arena_format(weights->arena, "\"%s\"", source->tensor);
    bool whole = diag_reads(diags, source->span, given);
    return arena_format(weights->arena, "\"%s\"", whole ? tensor : prefix_of(weights, tensor));
}

static struct advice advise(const struct weights *weights, const struct absent *absent, size_t count,
                            struct diags *diags)
{
    const struct param *source = absent->source;
    const char *prefix = find_prefix(weights, source->tensor);
    if (prefix)
        return (struct advice){.text = arena_format(weights->arena, "; give the prefix %s",
                                                    quote(weights->arena, prefix)),
                               .instead = arena_format(weights->arena, "\"%s\"", prefix)};
    if (count == 1 && lacks_bias(weights, source))
        return (struct advice){.text = "; write bias=false where there is none", .behind = ", bias=false"};
    struct nearest nearest = nearest_to(source->tensor);
    for (size_t i = 0; i < weights->file.count; i++)
        nearest_offer(&nearest, weights->file.tensors[i].name);
    const char *only = nearest_only(&nearest);
    return (struct advice){.text = nearest_text(weights->arena, &nearest),
                           .instead = only ? as_written(weights, source, only, diags) : NULL};
}

/* Where the name is written out, and may be put into a string as it is. */
static void fix_name(const struct weights *weights, const struct param *source, const struct advice *advice,
                     struct diags *diags)
{
    const char *whole = arena_format(weights->arena, "\"%s\"", source->tensor);
    const char *prefix = arena_format(weights->arena, "\"%s\"", prefix_of(weights, source->tensor));
    const struct span span = source->span, behind = {span.end, span.end};
    if (!diag_reads(diags, span, whole) && !diag_reads(diags, span, prefix))
        return;
    if (advice->instead && !strpbrk(advice->instead, "\\{}\n\t"))
        diag_fix(diags, span, "%s", advice->instead);
    if (advice->behind && diag_reads(diags, (struct span){span.end, span.end + 1}, ")"))
        diag_fix(diags, behind, "%s", advice->behind);
}

/* What one place of the spec asks for in vain is one error. */
static void fail_absent(const struct weights *weights, struct absents *absents, size_t first, size_t count,
                        struct diags *diags)
{
    struct absent *absent = &absents->list.at[first];
    struct advice advice = {.text = ""};
    sort_by_role(absent, count);
    if (absents->suggestions++ < SUGGESTIONS_MAX)
        advice = advise(weights, absent, count, diags);
    diag_error(diags, DIAG_TENSOR_MISSING, absent->source->span, "%s needs %s, which %s not in '%s'%s",
               absent->source->user, list_text(weights->arena, absent, count), count == 1 ? "is" : "are",
               weights->path, advice.text);
    fix_name(weights, absent->source, &advice, diags);
    site_notes(diags, absent->source->site);
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
    site_notes(diags, source->site);
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

/* What would make it fit: a weight that lies the other way round, or that has another number of rows or columns. */
enum misfit { MISFIT_OTHER, MISFIT_TRANSPOSED, MISFIT_ROWS, MISFIT_COLUMNS };

static enum misfit find_misfit(const struct param *source, const struct tensor *tensor)
{
    struct param other = *source;
    if (source->role == ROLE_ROW)
        return tensor->rank == 1 ? MISFIT_ROWS : MISFIT_OTHER;
    if (source->role == ROLE_LINEAR_BIAS || tensor->rank != (source->role == ROLE_LINEAR_WEIGHT ? 2 : 1))
        return MISFIT_OTHER;
    if (source->role != ROLE_LINEAR_WEIGHT)
        return MISFIT_COLUMNS;
    other.transposed = !source->transposed;
    if (fits(&other, tensor))
        return MISFIT_TRANSPOSED;
    const int64_t rows = tensor->shape[source->transposed], columns = tensor->shape[!source->transposed];
    if (columns == source->cols)
        return MISFIT_ROWS;
    return rows == source->rows ? MISFIT_COLUMNS : MISFIT_OTHER;
}

/* The size that the tensor has where the function needs another. */
static int64_t size_found(const struct param *source, const struct tensor *tensor, enum misfit misfit)
{
    if (tensor->rank == 1)
        return tensor->shape[0];
    return tensor->shape[(misfit == MISFIT_ROWS) == source->transposed];
}

static const char *misfit_text(struct arena *arena, const struct param *source, const struct tensor *tensor,
                               enum misfit misfit)
{
    switch (misfit) {
    case MISFIT_TRANSPOSED:
        return source->transposed ? "; it fits without transposed=true" : "; it fits with transposed=true";
    case MISFIT_ROWS:
        return arena_format(arena, "; it gives %" PRId64 " columns", size_found(source, tensor, misfit));
    case MISFIT_COLUMNS:
        return arena_format(arena, "; it is for %" PRId64 " columns%s", size_found(source, tensor, misfit),
                            source->operand ? arena_format(arena, ", and %s has %" PRId64, source->operand,
                                                           source->operand_width) : "");
    case MISFIT_OTHER:
        break;
    }
    return "";
}

/* The other place that has a part in it: the number given, or the value applied to. */
static void explain_misfit(struct arena *arena, const struct param *source, const struct tensor *tensor,
                           enum misfit misfit, struct diags *diags)
{
    const int64_t size = source->role == ROLE_ROW ? source->cols : source->rows;
    const char *written = arena_format(arena, "%" PRId64, size);
    if (misfit == MISFIT_ROWS) {
        if (diag_reads(diags, source->size_span, written))
            diag_fix(diags, source->size_span, "%" PRId64, size_found(source, tensor, misfit));
        else if (source->size_span.end)
            diag_note(diags, source->size_span, "this is %s", written);
    } else if (source->operand && source->role != ROLE_LINEAR_BIAS) {
        diag_note(diags, source->operand_span, "%s has its %" PRId64 " column%s from here", source->operand,
                  source->operand_width, source->operand_width == 1 ? "" : "s");
    }
    site_notes(diags, source->site);
}

static void fail_shape(const struct weights *weights, const struct param *source, const struct tensor *tensor,
                       struct diags *diags)
{
    struct arena *arena = weights->arena;
    const bool matrix = source->role == ROLE_LINEAR_WEIGHT;
    const int64_t first = matrix && !source->transposed ? source->rows : source->cols;
    const int64_t needed[] = {first, source->transposed ? source->rows : source->cols};
    const enum misfit misfit = find_misfit(source, tensor);
    diag_error(diags, DIAG_TENSOR_SHAPE, source->span, "%s is %s, but %s needs %s%s",
               quote(arena, tensor->name), shape_text(arena, tensor->shape, tensor->rank),
               source->transposed ? "linear(transposed=true)" : source->user,
               shape_text(arena, needed, matrix ? 2 : 1), misfit_text(arena, source, tensor, misfit));
    explain_misfit(arena, source, tensor, misfit, diags);
}

/* One of a layer's tensors that has the size of another, which has been reported. */
static bool is_reported(const struct weights *weights, const struct param *source, const struct tensor *tensor,
                        const struct param *reported)
{
    const struct tensor *other = reported ? safetensors_find(&weights->file, reported->tensor) : NULL;
    if (!other || tensor->rank != 1 || reported->span.begin != source->span.begin)
        return false;
    return other->shape[other->rank == 2 && reported->transposed] == tensor->shape[0];
}

/* `*reported`: the last of which there was an error. */
static bool check_shape(const struct weights *weights, const struct param *source, const struct tensor *tensor,
                        const struct param **reported, struct diags *diags)
{
    if (fits(source, tensor))
        return true;
    if (!is_reported(weights, source, tensor, *reported)) {
        fail_shape(weights, source, tensor, diags);
        *reported = source;
    }
    return false;
}

bool weights_check(const struct weights *weights, const struct graph *graph, struct diags *diags)
{
    bool good = true;
    const struct param *reported = NULL;
    struct absents absents = {.suggestions = 0};
    for (size_t i = 0; weights->path && i < graph->sources.count; i++) {
        const struct param *source = graph->sources.at[i];
        const struct tensor *tensor = safetensors_find(&weights->file, source->tensor);
        struct absent absent = {source, i};
        if (tensor)
            good &= check_shape(weights, source, tensor, &reported, diags) &&
                    check_dtype(weights, source, tensor, diags);
        else
            VEC_PUSH(weights->arena, &absents.list, absent);
    }
    fail_absents(weights, &absents, diags);
    if (weights->path && good && !absents.list.count)
        weights_unread(weights, graph, diags);
    return good && !absents.list.count;
}
