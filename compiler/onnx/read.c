#include "read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../file_map.h"
#include "../quote.h"
#include "../utf8.h"
#include "npy.h"
#include "onnx.pb-c.h"
#include "tensor.h"
#include "wire.h"

enum { DEEPEST = 40, OLDEST_OPSET = 7, NEWEST_OPSET = 28 };
/* What a file may make of itself: an empty message of two bytes becomes a struct of some hundred. */
enum { UNPACKED_PER_BYTE = 256, SMALL_CHANGE = 1 << 20 };

/* ---- the file ---- */

/* protobuf-c's memory: the arena, as far as the file's size accounts for it. */
struct pool {
    struct arena *arena;
    uint64_t left;
};

static void *pool_alloc(void *data, size_t size)
{
    struct pool *pool = data;
    if (size > pool->left)
        return NULL;
    pool->left -= size;
    return arena_alloc(pool->arena, size);
}

static void pool_free(void *data, void *object)
{
    (void)data;
    (void)object;
}

static Onnx__ModelProto *unpack(struct model *model, const unsigned char *bytes, size_t size)
{
    struct pool pool = {model->arena, (uint64_t)size * UNPACKED_PER_BYTE + SMALL_CHANGE};
    ProtobufCAllocator allocator = {pool_alloc, pool_free, &pool};
    if (!wire_check(&onnx__model_proto__descriptor, bytes, size, DEEPEST))
        return NULL;
    return onnx__model_proto__unpack(&allocator, size, bytes);
}

static enum exit_status unreadable(const char *path, const char *why)
{
    utf8_print_line(stderr, "mlpc: error: cannot read '%s': %s", path, why);
    return EXIT_ENVIRONMENT;
}

static enum exit_status unpack_file(struct model *model, int file, Onnx__ModelProto **proto)
{
    void *bytes;
    size_t size;
    const char *message = file < 0 ? strerror(errno) : file_map(file, &bytes, &size);
    if (message)
        return unreadable(model->path, message);
    if (size && size <= INT32_MAX) {
        model->budget = (uint64_t)size * COMPUTED_PER_BYTE + SMALL_CHANGE;
        *proto = unpack(model, bytes, size);
    } else {
        model_refuse(model, NULL, size ? "it has 2 GiB or more, which no ONNX file has" : "the file is empty");
    }
    file_unmap(bytes, size);
    if (model->refusals.count)
        return EXIT_USER;
    if (*proto && (*proto)->graph)
        return EXIT_DONE;
    model_refuse(model, NULL, *proto ? "it is not an ONNX model: it has no graph"
                                     : "it is not an ONNX model, or it is broken: its protobuf cannot be read");
    return EXIT_USER;
}

/* ---- values and nodes ---- */

static struct value *value_of(struct model *model, const char *name)
{
    void **place = map_place(model->by_name, name);
    if (!*place) {
        struct value *value = ARENA_NEW(model->arena, struct value);
        value->name = name;
        *place = value;
        VEC_PUSH(model->arena, &model->values, value);
    }
    return *place;
}

static const char *text(const char *text)
{
    return text ? text : "";
}

static bool is_default_domain(const char *domain)
{
    return !*domain || !strcmp(domain, "ai.onnx");
}

static void read_opset(struct model *model, const Onnx__ModelProto *proto)
{
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = proto->opset_import[i];
        if (!is_default_domain(text(set->domain)))
            continue;
        int64_t version = set->has_version ? set->version : 0;
        if (model->opset)
            model_refuse(model, NULL, "it imports ONNX's operators twice");
        if (version < OLDEST_OPSET || version > NEWEST_OPSET)
            model_refuse(model, NULL, "it uses version %lld of ONNX's operators; mlpc knows %d to %d",
                         (long long)version, OLDEST_OPSET, NEWEST_OPSET);
        model->opset = version > 0 && version <= NEWEST_OPSET ? (int)version : OLDEST_OPSET;
    }
}

static void read_initializers(struct model *model, const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        struct value *value = value_of(model, text(graph->initializer[i]->name));
        if (value->stored)
            model_refuse(model, NULL, "two initializers have the name %s", quote(model->arena, value->name));
        value->stored = tensor_load(model, NULL, graph->initializer[i]);
        value->refused = !value->stored;
    }
    for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
        const Onnx__TensorProto *values = graph->sparse_initializer[i]->values;
        model_refuse(model, NULL, "the initializer %s is sparse",
                     quote(model->arena, values ? text(values->name) : ""));
    }
}

static void read_type(struct value *value, const Onnx__ValueInfoProto *proto)
{
    const Onnx__TypeProto__Tensor *tensor =
        proto->type && proto->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? proto->type->tensor_type : NULL;
    const Onnx__TensorShapeProto *shape = tensor ? tensor->shape : NULL;
    value->type = tensor && tensor->has_elem_type ? (enum element)tensor->elem_type : 0;
    value->has_shape = shape && shape->n_dim <= RANK_MAX;
    value->shape.rank = value->has_shape ? (int)shape->n_dim : 0;
    for (int i = 0; i < value->shape.rank; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
        bool known = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value >= 0;
        value->shape.dims[i] = known ? dim->dim_value : -1;
    }
}

/* What the command line says for an input. */
static struct constant *bound(struct model *model, const struct read_request *request, const char *name)
{
    for (size_t i = 0; i < request->binding_count; i++) {
        struct binding *binding = &request->bindings[i];
        if (strcmp(binding->name, name))
            continue;
        binding->used = true;
        const char *message;
        struct constant *constant = npy_constant(model->arena, binding->path, name, &message);
        if (!constant && !message)
            model->failed = true;
        else if (!constant)
            model_refuse(model, NULL, "the value for %s, '%s', %s", quote(model->arena, name), binding->path, message);
        return constant;
    }
    return NULL;
}

static void read_inputs(struct model *model, const Onnx__GraphProto *graph, const struct read_request *request)
{
    for (size_t i = 0; i < graph->n_input; i++) {
        struct value *value = value_of(model, text(graph->input[i]->name));
        if (value->input)
            model_refuse(model, NULL, "two inputs have the name %s", quote(model->arena, value->name));
        read_type(value, graph->input[i]);
        value->input = true;
        struct constant *constant = bound(model, request, value->name);
        if (constant && value->type && constant->type != value->type)
            model_refuse(model, NULL, "the value given for %s is of %s, not %s", quote(model->arena, value->name),
                         element_name(constant->type), element_name(value->type));
        if (constant)
            value->stored = constant;
        if (!value->stored && !value->refused)
            VEC_PUSH(model->arena, &model->inputs, value);
    }
}

static struct value **read_names(struct model *model, char **names, size_t count)
{
    struct value **values = ARENA_ARRAY(model->arena, struct value *, count);
    for (size_t i = 0; i < count; i++)
        values[i] = *text(names[i]) ? value_of(model, names[i]) : NULL;
    return values;
}

static struct onnx_node *read_node(struct model *model, const Onnx__NodeProto *proto, size_t index)
{
    struct onnx_node *node = ARENA_NEW(model->arena, struct onnx_node);
    *node = (struct onnx_node){
        .op = text(proto->op_type), .domain = text(proto->domain), .name = text(proto->name), .index = (int)index,
        .input_count = (int)proto->n_input, .output_count = (int)proto->n_output, .proto = proto,
    };
    if (!strcmp(node->domain, "ai.onnx"))
        node->domain = "";
    node->inputs = read_names(model, proto->input, proto->n_input);
    node->outputs = read_names(model, proto->output, proto->n_output);
    return node;
}

/* Every value comes from one place. */
static void read_nodes(struct model *model, const Onnx__GraphProto *graph, struct onnx_node **nodes)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        struct onnx_node *node = nodes[i] = read_node(model, graph->node[i], i);
        for (int j = 0; j < node->output_count; j++) {
            struct value *value = node->outputs[j];
            if (value && (value->producer || value->input || value->stored))
                model_refuse(model, node, "its output %s has its value from elsewhere already",
                             quote(model->arena, value->name));
            else if (value)
                value->producer = node;
        }
    }
}

/* ---- what is needed, in order ---- */

static bool is_wanted(const struct read_request *request, const char *name)
{
    for (size_t i = 0; i < request->output_count; i++) {
        if (!strcmp(request->outputs[i], name))
            return true;
    }
    return !request->output_count;
}

static void read_outputs(struct model *model, const Onnx__GraphProto *graph, const struct read_request *request)
{
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = text(graph->output[i]->name);
        struct value *value = map_find(model->by_name, name);
        if (!is_wanted(request, name))
            continue;
        if (!value || (!value->producer && !value->input && !value->stored))
            model_refuse(model, NULL, "nothing gives the output %s", quote(model->arena, name));
        else
            VEC_PUSH(model->arena, &model->outputs, value);
    }
    for (size_t i = 0; i < request->output_count; i++) {
        bool found = false;
        for (size_t j = 0; j < graph->n_output; j++)
            found |= !strcmp(text(graph->output[j]->name), request->outputs[i]);
        if (!found)
            model_refuse(model, NULL, "it has no output %s", quote(model->arena, request->outputs[i]));
    }
    if (!graph->n_output)
        model_refuse(model, NULL, "it has no outputs");
}

typedef VEC(struct value *) values;

static void need(struct model *model, values *todo, struct value *value)
{
    if (!value || value->needed)
        return;
    value->needed = true;
    VEC_PUSH(model->arena, todo, value);
}

/* Marks what the outputs depend on, and counts for each node how many of its inputs other nodes give. */
static void mark_needed(struct model *model)
{
    values todo = {0};
    for (size_t i = 0; i < model->outputs.count; i++)
        need(model, &todo, model->outputs.at[i]);
    while (todo.count) {
        const struct value *value = todo.at[--todo.count];
        for (int i = 0; value->producer && i < value->producer->input_count; i++) {
            struct value *input = value->producer->inputs[i];
            need(model, &todo, input);
            if (input && !input->producer && !input->input && !input->stored && !input->refused) {
                input->refused = true;
                model_refuse(model, value->producer, "nothing gives its input %s", quote(model->arena, input->name));
            }
        }
    }
}

static bool node_needed(const struct onnx_node *node)
{
    for (int i = 0; i < node->output_count; i++) {
        if (node->outputs[i] && node->outputs[i]->needed)
            return true;
    }
    return false;
}

/* For each value the nodes that wait for it: chains through one array of links. */
struct wait {
    struct onnx_node *node;
    struct wait *next;
};

static void add_waits(struct model *model, struct map *waits, struct onnx_node *node)
{
    for (int i = 0; i < node->input_count; i++) {
        if (!node->inputs[i] || !node->inputs[i]->producer)
            continue;
        struct wait *wait = ARENA_NEW(model->arena, struct wait);
        void **first = map_place(waits, node->inputs[i]->name);
        *wait = (struct wait){node, *first};
        *first = wait;
        node->waits++;
    }
}

static bool in_order(struct onnx_node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (int j = 0; j < nodes[i]->input_count; j++) {
            const struct value *input = nodes[i]->inputs[j];
            if (input && input->producer && input->producer->index >= nodes[i]->index)
                return false;
        }
    }
    return true;
}

/* Nodes in the order of the file where that is good, as the format asks; else each behind those that it waits for. */
static void sort_nodes(struct model *model, struct onnx_node *const *nodes, size_t count)
{
    struct map *waits = map_new(model->arena);
    bool ordered = in_order(nodes, count);
    size_t needed = 0;
    for (size_t i = 0; i < count; i++) {
        if (node_needed(nodes[i]) && ordered) {
            VEC_PUSH(model->arena, &model->nodes, nodes[i]);
        } else if (node_needed(nodes[i])) {
            add_waits(model, waits, nodes[i]);
            needed++;
        }
    }
    if (ordered)
        return;
    for (size_t i = 0; i < count; i++) {
        if (node_needed(nodes[i]) && !nodes[i]->waits)
            VEC_PUSH(model->arena, &model->nodes, nodes[i]);
    }
    for (size_t done = 0; done < model->nodes.count; done++) {
        const struct onnx_node *node = model->nodes.at[done];
        for (int i = 0; i < node->output_count; i++) {
            struct wait *wait = node->outputs[i] ? map_find(waits, node->outputs[i]->name) : NULL;
            for (; wait; wait = wait->next) {
                if (!--wait->node->waits)
                    VEC_PUSH(model->arena, &model->nodes, wait->node);
            }
        }
    }
    for (size_t i = 0; i < count && model->nodes.count < needed; i++) {
        if (nodes[i]->waits > 0)
            model_refuse(model, nodes[i], "it waits for itself: the graph has a cycle");
    }
}

/* Inputs that nothing reads are left out: they are no part of the network. */
static void drop_inputs(struct model *model)
{
    size_t kept = 0;
    for (size_t i = 0; i < model->inputs.count; i++) {
        struct value *value = model->inputs.at[i];
        if (value->needed)
            model->inputs.at[kept++] = value;
        else
            utf8_print_line(stderr, "%s: note: no output depends on the input %s: it is left out", model->path,
                            quote(model->arena, value->name));
    }
    model->inputs.count = kept;
}

static void refuse_functions(struct model *model, const Onnx__ModelProto *proto)
{
    for (size_t i = 0; i < model->nodes.count && proto->n_functions; i++) {
        for (size_t j = 0; j < proto->n_functions; j++) {
            const Onnx__FunctionProto *function = proto->functions[j];
            const struct onnx_node *node = model->nodes.at[i];
            if (!strcmp(text(function->name), node->op) && !strcmp(text(function->domain), node->domain)) {
                model_refuse(model, node, "it is a function of the model; export it with functions inlined");
                break;
            }
        }
    }
}

static void build(struct model *model, const Onnx__ModelProto *proto, const struct read_request *request)
{
    const Onnx__GraphProto *graph = proto->graph;
    struct onnx_node **nodes = ARENA_ARRAY(model->arena, struct onnx_node *, graph->n_node);
    read_opset(model, proto);
    read_initializers(model, graph);
    read_inputs(model, graph, request);
    read_nodes(model, graph, nodes);
    read_outputs(model, graph, request);
    for (size_t i = 0; i < request->binding_count; i++) {
        if (!request->bindings[i].used)
            model_refuse(model, NULL, "it has no input %s", quote(model->arena, request->bindings[i].name));
    }
    if (model->failed || model->refusals.count)
        return;
    mark_needed(model);
    sort_nodes(model, nodes, graph->n_node);
    refuse_functions(model, proto);
    if (!model->refusals.count)
        drop_inputs(model);
}

enum exit_status read_model(const struct read_request *request, struct model *model)
{
    Onnx__ModelProto *proto = NULL;
    model->path = request->path;
    model->by_name = map_new(model->arena);
    int file = open(model->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum exit_status status = unpack_file(model, file, &proto);
    if (file >= 0)
        close(file);
    if (status != EXIT_DONE)
        return status;
    build(model, proto, request);
    if (model->failed)
        return EXIT_ENVIRONMENT;
    return model->refusals.count ? EXIT_USER : EXIT_DONE;
}
