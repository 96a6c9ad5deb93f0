/* The plan as a graph for Graphviz: a box for each step, with what cuBLASLt's epilogue or the tile's does of it, ovals
 * for inputs and outputs, and on each edge the shape and the type of what is read. */
#include "dot.h"

#include <inttypes.h>
#include <string.h>

#include "utf8.h"

/* Characters of a label, in which Graphviz reads backslashes and the entities of HTML. */
static void print_escaped(const char *text, FILE *to)
{
    for (size_t left = strlen(text), used; left; text += used, left -= used) {
        uint32_t character;
        size_t length = utf8_decode(text, left, &character);
        used = length ? length : 1;
        if (!length || utf8_cells(character) < 0)
            fputc('?', to);
        else if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else if (*text == '&')
            fputs("&amp;", to);
        else
            fwrite(text, 1, length, to);
    }
}

/* ---- Steps ---- */

/* What stands behind the product in its step: the bias, then the other operations of the tape, in their order. */
static void print_epilogue(const struct step *step, FILE *to)
{
    bool any = step->tape.at[0].in[2].kind == OPERAND_PARAM;
    fprintf(to, "\\nproduct, %" PRId64 " columns from %" PRId64 "; epilogue: %s", step->n, step->k, any ? "bias" : "");
    for (size_t i = 1; i < step->tape.count; i++) {
        bool residual = i == 1 && step->residual >= 0;
        fprintf(to, "%s%s", any ? ", " : "", residual ? "residual" : op_info[step->tape.at[i].op].text);
        any = true;
    }
    fputs(any ? "" : "none", to);
}

static void print_step(const struct plan *plan, int index, FILE *to)
{
    const struct step *step = &plan->steps.at[index];
    fprintf(to, "    step%d [shape=box, label=\"", index);
    print_escaped(step->text, to);
    if (step->product)
        print_epilogue(step, to);
    fputs("\"];\n", to);
}

/* ---- Edges ---- */

/* Parts of one buffer that the step reads may have been written by several steps: a concat. An edge comes from each
 * step whose value shares columns with the one read. */
static bool overlap(const struct value *a, const struct value *b)
{
    return a->buffer == b->buffer && a->column < b->column + b->width && b->column < a->column + a->width;
}

static void print_edge(const char *from, size_t from_index, const char *into, size_t into_index,
                       const struct value *value, FILE *to)
{
    fprintf(to, "    %s%zu -> %s%zu [label=\"%s [rows, %" PRId64 "] %s\"];\n", from, from_index, into, into_index,
            value->name, value->width, dtype_text(value->dtype));
}

/* From all that wrote the value before step `before`. */
static void print_edges(const struct plan *plan, size_t before, const char *into, size_t into_index, int value,
                        FILE *to)
{
    const struct value *read = &plan->values.at[value];
    for (size_t i = 0; i < plan->inputs.count; i++) {
        if (overlap(&plan->values.at[plan->inputs.at[i].value], read))
            print_edge("input", i, into, into_index, read, to);
    }
    for (size_t i = 0; i < before; i++) {
        if (overlap(&plan->values.at[plan->steps.at[i].out], read))
            print_edge("step", i, into, into_index, read, to);
    }
}

/* One for each value, however often the step reads it. */
static void print_operands(const struct plan *plan, size_t index, bool *met, FILE *to)
{
    const struct step *step = &plan->steps.at[index];
    for (size_t i = 0; i < 3 * step->tape.count; i++) {
        struct operand operand = step->tape.at[i / 3].in[i % 3];
        if (operand.kind == OPERAND_VALUE && !met[operand.index]) {
            met[operand.index] = true;
            print_edges(plan, index, "step", index, operand.index, to);
        }
    }
    for (size_t i = 0; i < 3 * step->tape.count; i++) {
        struct operand operand = step->tape.at[i / 3].in[i % 3];
        if (operand.kind == OPERAND_VALUE)
            met[operand.index] = false;
    }
}

static void print_ports(const char *name, const struct plan_port *ports, size_t count, FILE *to)
{
    for (size_t i = 0; i < count; i++)
        fprintf(to, "    %s%zu [shape=oval, label=\"%s [rows, %" PRId64 "] %s\"];\n", name, i, ports[i].name,
                ports[i].width, dtype_text(ports[i].dtype));
}

void dot_print(const struct plan *plan, FILE *to)
{
    bool *met = ARENA_ARRAY(plan->arena, bool, plan->values.count);
    fprintf(to, "digraph \"%s\" {\n", plan->name);
    print_ports("input", plan->inputs.at, plan->inputs.count, to);
    print_ports("output", plan->outputs.at, plan->outputs.count, to);
    for (size_t i = 0; i < plan->steps.count; i++) {
        print_step(plan, (int)i, to);
        print_operands(plan, i, met, to);
    }
    for (size_t i = 0; i < plan->outputs.count; i++)
        print_edges(plan, plan->steps.count, "output", i, plan->outputs.at[i].value, to);
    fputs("}\n", to);
}
