/* The passes of an import in order, and what becomes of their result. */
#include "import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../output.h"
#include "../utf8.h"
#include "external.h"
#include "name.h"
#include "print.h"
#include "read.h"
#include "recognise.h"
#include "request.h"
#include "store.h"
#include "translate.h"
#include "try.h"

struct import {
    struct arena *arena;
    struct request request;
    struct model model;
    struct net net;
    struct store *store;
    const char *name;
    const char **output_names;      /* in the spec, beside the model's outputs */
    struct outputs files;
};

/* The two files, in memory. */
static bool render(struct import *import)
{
    const struct request *request = &import->request;
    import->name = request->name ? request->name : name_model(import->arena, request->input);
    struct print_request print = {
        .name = import->name, .source = path_name(request->input),
        .batch = request->batch ? request->batch : arena_format(import->arena, "%" PRId64, import->net.batch),
        .weights = arena_format(import->arena, "%s.safetensors", import->name), .type = translate_type(&import->net),
    };
    import->store = store_new(&import->model, request->keep_layout);
    const char *spec = print_spec(&import->model, &import->net, &print, import->store, &import->output_names);
    outputs_add(&import->files, arena_format(import->arena, "%s.mlp", import->name), spec, strlen(spec));
    if (store_is_empty(import->store))
        return true;
    size_t size;
    const void *weights = store_write(import->store, &size);
    outputs_add(&import->files, print.weights, weights, size);
    return weights;
}

static bool overwrites_input(const struct import *import, const char *path)
{
    bool same = output_is_input(path, import->request.input);
    for (size_t i = 0; i < import->model.files.count; i++)
        same |= output_is_input(path, import->model.files.at[i].path);
    if (same)
        utf8_print_line(stderr, "mlpc: error: the output '%s' is what is imported", path);
    return same;
}

static enum exit_status write_files(struct import *import)
{
    struct outputs outputs = {.arena = import->arena};
    if (!output_folder(&outputs, import->request.folder))
        return EXIT_ENVIRONMENT;
    for (size_t i = 0; i < import->files.files.count; i++) {
        const struct output_file *file = &import->files.files.at[i];
        const char *path = arena_format(import->arena, "%s/%s", import->request.folder, file->path);
        if (overwrites_input(import, path))
            return EXIT_COMMAND_LINE;
        outputs_add(&outputs, path, file->bytes, file->size);
    }
    return outputs_commit(&outputs) ? EXIT_DONE : EXIT_ENVIRONMENT;
}

static enum exit_status check(struct import *import)
{
    struct try try = {.arena = import->arena, .model = &import->model, .net = &import->net, .name = import->name,
                      .output_names = import->output_names, .files = &import->files,
                      .tolerance = import->request.tolerance};
    if (!import->request.checks.count)
        return EXIT_DONE;
    return try_network(&try, import->request.checks.at, import->request.checks.count);
}

static enum exit_status run(struct import *import)
{
    const struct request *request = &import->request;
    struct read_request read = {request->input, request->outputs.at, request->outputs.count, request->bindings.at,
                                request->bindings.count};
    enum exit_status status = read_model(&read, &import->model);
    if (status != EXIT_DONE)
        return status;
    if (!translate_model(&import->model, &import->net) || !recognise_functions(&import->model, &import->net) ||
        !render(import))
        return EXIT_USER;
    status = check(import);
    return status == EXIT_DONE ? write_files(import) : status;
}

enum exit_status import_main(int argc, char **argv)
{
    struct import import = {.arena = arena_new()};
    bool done;
    import.request.arena = import.model.arena = import.files.arena = import.arena;
    enum exit_status status = request_parse(argc, argv, &import.request, &done);
    if (status == EXIT_DONE && !done)
        status = run(&import);
    model_print_refusals(&import.model);
    external_close(&import.model);
    arena_free(import.arena);
    return status;
}
