/* Warnings about tensors of the file that nothing reads. Those of a type that no function could read are left out:
 * PyTorch counts batches in integers (num_batches_tracked). */
#include <string.h>

#include "convert.h"
#include "quote.h"
#include "tensor_read.h"
#include "weights.h"

struct reading {
    const struct weights *weights;
    const struct param **readers;   /* by tensor of the file: who reads it first, or NULL */
    struct diags *diags;
};

static size_t index_of(const struct weights *weights, const struct tensor *tensor)
{
    return (size_t)(tensor - weights->file.tensors);
}

static void find_readers(struct reading *reading, const struct graph *graph)
{
    for (size_t i = 0; i < graph->sources.count; i++) {
        const struct tensor *tensor = safetensors_find(&reading->weights->file, graph->sources.at[i]->tensor);
        const struct param **reader = &reading->readers[index_of(reading->weights, tensor)];
        *reader = *reader ? *reader : graph->sources.at[i];
    }
}

static bool is_unread(const struct reading *reading, size_t i)
{
    return !reading->readers[i] && convert_stored(reading->weights->file.tensors[i].dtype, &(enum stored){0});
}

/* What reads another part of the layer that "fc.bias" is of, or NULL. */
static const struct param *find_layer(const struct reading *reading, const char *name)
{
    static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};
    const struct weights *weights = reading->weights;
    const char *dot = strrchr(name, '.');
    const struct param *reader = NULL;
    bool is_part = false;
    for (size_t i = 0; dot && i < sizeof parts / sizeof *parts; i++) {
        const char *other = arena_format(weights->arena, "%.*s.%s", (int)(dot - name), name, parts[i]);
        const struct tensor *tensor = safetensors_find(&weights->file, other);
        is_part |= !strcmp(dot + 1, parts[i]);
        if (tensor && !reader)
            reader = reading->readers[index_of(weights, tensor)];
    }
    return is_part ? reader : NULL;
}

static void warn_partial(struct reading *reading, size_t i)
{
    struct arena *arena = reading->weights->arena;
    const char *name = reading->weights->file.tensors[i].name;
    const struct param *reader = find_layer(reading, name);
    if (!reader)
        return;
    diag_warning(reading->diags, DIAG_PARTIAL_LAYER, reader->span,
                 "this %s reads %s, but nothing reads %s, which is in '%s' too", reader->user,
                 quote(arena, reader->tensor), quote(arena, name), reading->weights->path);
    site_notes(reading->diags, reader->site);
}

void weights_unread(const struct weights *weights, const struct graph *graph, struct diags *diags)
{
    struct reading reading = {weights, ARENA_ARRAY(weights->arena, const struct param *, weights->file.count + 1),
                              diags};
    VEC(const char *) names = {0};
    find_readers(&reading, graph);
    for (size_t i = 0; i < weights->file.count; i++) {
        if (!is_unread(&reading, i))
            continue;
        VEC_PUSH(weights->arena, &names, weights->file.tensors[i].name);
        if (diag_warns(diags, DIAG_PARTIAL_LAYER))
            warn_partial(&reading, i);
    }
    if (names.count && diag_warns(diags, DIAG_UNUSED_TENSOR))
        diag_warning(diags, DIAG_UNUSED_TENSOR, graph->weights_span, "nothing reads %s of '%s'",
                     quote_list(weights->arena, names.at, names.count), weights->path);
}
