#include "dot.h"

#include <inttypes.h>

/* The text of a label: quotes and backslashes escaped, control characters left out. */
static void print_label(const char *text, FILE *to)
{
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        if ((unsigned char)*text >= ' ')
            fputc(*text, to);
    }
    fputc('"', to);
}

/* Parts of one buffer that the step reads may have been written by several steps: a concat. An edge comes from each
 * step whose value shares columns with the one read. */
static bool overlap(const struct value *a, const struct value *b)
{
    return a->buffer == b->buffer && a->column < b->column + b->width && b->column < a->column + a->width;
}

static void print_edges(const struct plan *plan, int step, int value, FILE *to)
{
    const struct value *read = &plan->values.at[value];
    for (size_t i = 0; i < plan->inputs.count; i++) {
        if (overlap(&plan->values.at[plan->inputs.at[i].value], read))
            fprintf(to, "    input%zu -> step%d [label=\"%s [%" PRId64 "]\"];\n", i, step, read->name, read->width);
    }
    for (int i = 0; i < step; i++) {
        if (overlap(&plan->values.at[plan->steps.at[i].out], read))
            fprintf(to, "    step%d -> step%d [label=\"%s [%" PRId64 "]\"];\n", i, step, read->name, read->width);
    }
}

static void print_step(const struct plan *plan, int index, FILE *to)
{
    const struct step *step = &plan->steps.at[index];
    fprintf(to, "    step%d [shape=box, label=", index);
    print_label(step->text, to);
    fputs("];\n", to);
    for (size_t i = 0; i < step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            if (step->tape.at[i].in[j].kind == OPERAND_VALUE)
                print_edges(plan, index, step->tape.at[i].in[j].index, to);
        }
    }
}

static void print_output(const struct plan *plan, size_t index, FILE *to)
{
    const struct plan_port *port = &plan->outputs.at[index];
    const struct value *value = &plan->values.at[port->value];
    fprintf(to, "    output%zu [shape=oval, label=\"%s: %s[%" PRId64 "]\"];\n", index, port->name,
            dtype_text(port->dtype), port->width);
    for (size_t i = 0; i < plan->steps.count; i++) {
        if (overlap(&plan->values.at[plan->steps.at[i].out], value))
            fprintf(to, "    step%zu -> output%zu;\n", i, index);
    }
}

void dot_print(const struct plan *plan, FILE *to)
{
    fprintf(to, "digraph \"%s\" {\n", plan->name);
    for (size_t i = 0; i < plan->inputs.count; i++)
        fprintf(to, "    input%zu [shape=oval, label=\"%s: %s[%" PRId64 "]\"];\n", i, plan->inputs.at[i].name,
                dtype_text(plan->inputs.at[i].dtype), plan->inputs.at[i].width);
    for (int i = 0; (size_t)i < plan->steps.count; i++)
        print_step(plan, i, to);
    for (size_t i = 0; i < plan->outputs.count; i++)
        print_output(plan, i, to);
    fputs("}\n", to);
}
