#include "translate.h"

#include <math.h>
#include <string.h>

#include "../quote.h"
#include "attribute.h"
#include "fold.h"

static const struct operator *find_operator(const struct onnx_node *node)
{
    for (size_t i = 0; i < operator_count; i++) {
        if (!strcmp(operators[i].name, node->op) && !strcmp(operators[i].domain, node->domain))
            return &operators[i];
    }
    return NULL;
}

/* ---- one node ---- */

static bool reads_refused(const struct onnx_node *node)
{
    for (int i = 0; i < node->input_count; i++) {
        if (node->inputs[i] && node->inputs[i]->refused)
            return true;
    }
    return false;
}

static void mark_refused(const struct onnx_node *node)
{
    for (int i = 0; i < node->output_count; i++) {
        if (node->outputs[i])
            node->outputs[i]->refused = true;
    }
}

static bool all_constant(const struct onnx_node *node)
{
    for (int i = 0; i < node->input_count; i++) {
        if (node->inputs[i] && !node->inputs[i]->constant)
            return false;
    }
    return true;
}

static bool check_inputs(struct model *model, const struct onnx_node *node, const struct operator *operator)
{
    int least = operator->inputs_least, most = operator->inputs_most;
    if (node->input_count < least || (most >= 0 && node->input_count > most))
        return model_refuse(model, node, "it has %d inputs", node->input_count);
    for (int i = 0; i < node->input_count && (i < least || most < 0); i++) {
        if (!node->inputs[i])
            return model_refuse(model, node, "its input %d is left out", i);
    }
    return (node->output_count && node->outputs[0]) || model_refuse(model, node, "its first output is left out");
}

/* Every output that is used has got its value. */
static bool check_outputs(struct model *model, const struct onnx_node *node)
{
    for (int i = 0; i < node->output_count; i++) {
        const struct value *value = node->outputs[i];
        if (value && value->needed && !value->rows && !value->constant)
            return model_refuse(model, node, "its output %s is used, which the operator has not, or mlpc does not know",
                                quote(model->arena, value->name));
    }
    return true;
}

/* Of the terms from `first` on: the language has no infinity and no NaN to write. */
static bool check_numbers(const struct translation *t, const struct onnx_node *node, size_t first)
{
    for (size_t i = first; i < t->net->terms.count; i++) {
        const struct term *term = t->net->terms.at[i];
        const int count = term->op == TERM_NUMBER ? 1 : term->number_count;
        for (int j = 0; j < count; j++) {
            if (!isfinite(term->numbers[j]))
                return model_refuse(t->model, node, "it computes with the number %g", fabs(term->numbers[j]));
        }
    }
    return true;
}

static bool translate_node(struct translation *t, const struct onnx_node *node)
{
    const struct operator *operator = find_operator(node);
    const size_t first = t->net->terms.count;
    bool own = !*node->domain;
    if (!operator && own)
        return model_refuse(t->model, node, "mlpc has no such operator");
    if (!operator)
        return model_refuse(t->model, node, "mlpc has no such operator of the domain %s",
                            quote(t->arena, node->domain));
    if (own && !t->model->opset)
        return model_refuse(t->model, node, "the model does not say which version of ONNX's operators it uses");
    if (!check_inputs(t->model, node, operator) || !attribute_check(t->model, node, operator->attributes))
        return false;
    if (all_constant(node) && !fold_can(node))
        return model_refuse(t->model, node, "all its inputs are constants");
    if (!all_constant(node) && !operator->translate)
        return model_refuse(t->model, node, "its input is not a constant");
    return (all_constant(node) ? fold_node(t, node) : operator->translate(t, node)) && check_outputs(t->model, node) &&
           check_numbers(t, node, first);
}

/* ---- inputs and outputs ---- */

static bool translate_input(struct translation *t, struct value *value)
{
    const char *name = quote(t->arena, value->name);
    struct shape row = {0};
    size_t width;
    if (!element_is_float(value->type))
        return model_refuse(t->model, NULL, "the input %s is of %s; mlpc takes f32, f16 and bf16", name,
                            element_name(value->type));
    if (!value->has_shape || value->shape.rank < t->lead)
        return model_refuse(t->model, NULL, "the input %s has no shape with rows", name);
    for (int i = 0; i < value->shape.rank; i++) {
        int64_t size = value->shape.dims[i];
        if (i >= t->lead)
            row.dims[row.rank++] = size;
        else if (t->net->inputs.count && t->lead_sizes[i] != size)
            return model_refuse(t->model, NULL, "the input %s of shape %s has another number of rows than the first; "
                                "--bind makes it a constant", name, shape_text(t->arena, &value->shape));
        else
            t->lead_sizes[i] = size;
    }
    if (!shape_count(&row, &width) || !width || width > INT32_MAX)
        return model_refuse(t->model, NULL, "the input %s of shape %s has no fixed number of columns", name,
                            shape_text(t->arena, &value->shape));
    struct term *term = term_new(t->net, NULL, TERM_INPUT, 0, (int64_t)width, value->type);
    term->hint = value->name;
    value->rows = ARENA_NEW(t->arena, struct rows);
    *value->rows = (struct rows){term, t->lead, row};
    VEC_PUSH(t->arena, &t->net->inputs, term);
    return true;
}

static bool translate_output(struct translation *t, const struct value *value)
{
    if (value->refused)
        return false;
    if (!value->rows)
        return model_refuse(t->model, NULL, "the output %s does not depend on an input", quote(t->arena, value->name));
    VEC_PUSH(t->arena, &t->net->outputs, value->rows->term);
    VEC_PUSH(t->arena, &t->net->output_types, value->rows->term->type);
    return true;
}

/* ---- types ---- */

enum element translate_type(const struct net *net)
{
    for (size_t i = 0; i < net->terms.count; i++) {
        if (net->terms.at[i]->op == TERM_LINEAR)
            return net->terms.at[i]->type;
    }
    for (size_t i = 0; i < net->terms.count; i++) {
        if (net->terms.at[i]->op != TERM_INPUT && net->terms.at[i]->type == ELEMENT_F32)
            return ELEMENT_F32;
    }
    return net->inputs.count ? net->inputs.at[0]->type : ELEMENT_F32;
}

/* Values of more precision than the model's type are within what the language promises; of less, or of another kind,
 * they would be rounded in ONNX, and are not here. */
static void check_types(struct translation *t)
{
    enum element type = translate_type(t->net);
    for (size_t i = 0; i < t->net->terms.count; i++) {
        const struct term *term = t->net->terms.at[i];
        bool good = term->type == type || term->type == ELEMENT_F32 || term->op == TERM_INPUT;
        if (term->op == TERM_LINEAR)
            good = term->type == type;
        if (!good && term->node) {
            model_refuse(t->model, term->node, "it computes in %s, in a network of %s", element_name(term->type),
                         element_name(type));
            return;
        }
    }
}

/* ---- tries ---- */

static void reset(struct model *model)
{
    for (size_t i = 0; i < model->values.count; i++) {
        struct value *value = model->values.at[i];
        value->constant = value->stored;
        value->rows = NULL;
        value->refused = false;
    }
    model->refusals.count = 0;
}

/* *lost: nodes that could not be translated, or depend on such. */
static bool try(struct model *model, struct net *net, int lead, size_t *lost)
{
    struct translation t = {.arena = model->arena, .model = model, .net = net, .lead = lead};
    *net = (struct net){.arena = model->arena};
    reset(model);
    for (int i = 0; i < RANK_MAX; i++)
        t.lead_sizes[i] = -1;
    for (size_t i = 0; i < model->inputs.count; i++)
        model->inputs.at[i]->refused = !translate_input(&t, model->inputs.at[i]);
    for (size_t i = 0; i < model->nodes.count; i++) {
        const struct onnx_node *node = model->nodes.at[i];
        if (reads_refused(node) || !translate_node(&t, node)) {
            mark_refused(node);
            ++*lost;
        }
    }
    net->batch = 1;
    for (int i = 0; i < lead; i++) {
        if (t.lead_sizes[i] <= 0 || !CHECKED_MUL(net->batch, t.lead_sizes[i], &net->batch) || net->batch > INT32_MAX) {
            net->batch = 1;
            break;
        }
    }
    for (size_t i = 0; i < model->outputs.count; i++)
        translate_output(&t, model->outputs.at[i]);
    if (!model->refusals.count)
        check_types(&t);
    return !model->refusals.count;
}

/* The tries worth making: one dimension of rows, then two and more; none first where an input is a vector of fixed
 * length. */
static void choose_leads(const struct model *model, int *first, int *last)
{
    int most = 0;
    bool vectors = model->inputs.count > 0;
    for (size_t i = 0; i < model->inputs.count; i++) {
        const struct value *input = model->inputs.at[i];
        most = input->shape.rank > most ? input->shape.rank : most;
        vectors = vectors && (input->shape.rank == 0 || (input->shape.rank == 1 && input->shape.dims[0] >= 0));
    }
    *first = vectors ? 0 : 1;
    *last = most > 2 ? most - 1 : 1;
}

bool translate_model(struct model *model, struct net *net)
{
    int first, last, best = 0;
    size_t fewest = SIZE_MAX, lost;
    if (!model->outputs.count)
        return false;
    choose_leads(model, &first, &last);
    for (int lead = first; lead <= last; lead++) {
        lost = 0;
        if (try(model, net, lead, &lost))
            return true;
        if (lost < fewest) {
            fewest = lost;
            best = lead;
        }
    }
    return try(model, net, best, &lost);
}
