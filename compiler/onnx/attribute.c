#include "attribute.h"

#include <string.h>

#include "../quote.h"
#include "onnx.pb-c.h"

static const Onnx__AttributeProto *find(const struct onnx_node *node, const char *name)
{
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->proto->attribute[i];
        if (attribute->name && !strcmp(attribute->name, name))
            return attribute;
    }
    return NULL;
}

/* The letter of an attribute's type. Files of the first versions leave the type out. */
static char letter(const Onnx__AttributeProto *attribute)
{
    static const char letters[] = "?fistgFIS";
    int type = attribute->has_type ? (int)attribute->type : 0;
    if (type)
        return type > 0 && type < (int)sizeof letters - 1 ? letters[type] : '?';
    return attribute->has_f ? 'f' : attribute->has_i ? 'i' : attribute->has_s ? 's' : attribute->t ? 't'
           : attribute->n_floats ? 'F' : attribute->n_ints ? 'I' : '?';
}

static bool is_allowed(const char *allowed, const char *name, char *type)
{
    size_t length = strlen(name);
    for (const char *at = allowed; length && (at = strstr(at, name)); at++) {
        if ((at == allowed || at[-1] == ' ') && at[length] == ':') {
            *type = at[length + 1];
            return true;
        }
    }
    return false;
}

bool attribute_check(struct model *model, const struct onnx_node *node, const char *allowed)
{
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->proto->attribute[i];
        const char *name = attribute->name ? attribute->name : "";
        const char *quoted = quote(model->arena, name);
        char type = 0;
        if (letter(attribute) == 'g' || attribute->g || attribute->n_graphs)
            return model_refuse(model, node, "its attribute %s is a graph", quoted);
        if (!is_allowed(allowed, name, &type))
            return model_refuse(model, node, "its attribute %s is unknown", quoted);
        if (attribute->ref_attr_name && *attribute->ref_attr_name)
            return model_refuse(model, node, "its attribute %s is that of a function", quoted);
        if (letter(attribute) != type || (type == 't' && !attribute->t))
            return model_refuse(model, node, "its attribute %s has another type than the operator's", quoted);
        if (find(node, name) != attribute)
            return model_refuse(model, node, "its attribute %s stands twice", quoted);
    }
    return true;
}

size_t attribute_count(const struct onnx_node *node)
{
    return node->proto->n_attribute;
}

bool attribute_has(const struct onnx_node *node, const char *name)
{
    return find(node, name);
}

int64_t attribute_int(const struct onnx_node *node, const char *name, int64_t fallback)
{
    const Onnx__AttributeProto *attribute = find(node, name);
    return attribute ? attribute->i : fallback;
}

enum element attribute_element(const struct onnx_node *node, const char *name)
{
    int64_t number = attribute_int(node, name, 0);
    return number > 0 && number <= INT32_MAX ? (enum element)number : 0;
}

double attribute_float(const struct onnx_node *node, const char *name, double fallback)
{
    const Onnx__AttributeProto *attribute = find(node, name);
    return attribute ? (double)attribute->f : (double)(float)fallback;
}

const char *attribute_string(struct arena *arena, const struct onnx_node *node, const char *name, const char *fallback)
{
    const Onnx__AttributeProto *attribute = find(node, name);
    return attribute ? arena_copy(arena, (const char *)attribute->s.data, attribute->s.len) : fallback;
}

const int64_t *attribute_ints(const struct onnx_node *node, const char *name, size_t *count)
{
    const Onnx__AttributeProto *attribute = find(node, name);
    *count = attribute ? attribute->n_ints : 0;
    return attribute ? attribute->ints : NULL;
}

const float *attribute_floats(const struct onnx_node *node, const char *name, size_t *count)
{
    const Onnx__AttributeProto *attribute = find(node, name);
    *count = attribute ? attribute->n_floats : 0;
    return attribute ? attribute->floats : NULL;
}

const struct Onnx__TensorProto *attribute_tensor(const struct onnx_node *node, const char *name)
{
    const Onnx__AttributeProto *attribute = find(node, name);
    return attribute ? attribute->t : NULL;
}
