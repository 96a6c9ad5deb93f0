/* A network's outputs must not depend on memory that is dead: what stood in the arena before a run, and, at each step,
 * all bytes that no step from there on reads before they are written. They are filled with NaN, and the outputs keep
 * their bits. What is alive is found here from what each step reads and writes, not from the planner's intervals. */
#include "prove.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 5, POISON = 0xff };

struct proof {
    const mlp_model *model;
    unsigned char *arena;
    size_t rows;
    void **inputs, **outputs, **first;  /* first: the outputs of the first run */
    unsigned char *dead;            /* [steps, arena bytes]: before a step */
};

static size_t element_bytes(mlp_dtype dtype)
{
    return dtype == MLP_F32 ? 4 : 2;
}

static void *take(size_t count, size_t size)
{
    void *block = calloc(count + 1, size);
    if (!block)
        abort();
    return block;
}

static void give_back(void **blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    free(blocks);
}

/* A network may have no arena: then there is no address. */
static void fill(void *to, int byte, size_t bytes)
{
    if (bytes)
        memset(to, byte, bytes);
}

/* Numbers of -1 to 1, and their upper halves for bf16; for f16, 0.5 to 1. */
static void fill_input(unsigned char *to, size_t count, mlp_dtype dtype)
{
    static uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        float number = (float)(int32_t)state / 2147483648.f;
        uint16_t half = (uint16_t)(0x3800 | state >> 22);
        uint32_t bits;
        memcpy(&bits, &number, 4);
        if (dtype == MLP_BF16)
            half = (uint16_t)(bits >> 16);
        if (dtype == MLP_F32)
            memcpy(to + 4 * i, &bits, 4);
        else
            memcpy(to + 2 * i, &half, 2);
    }
}

static void mark(const struct proof *p, unsigned char *map, const mlp_value *value, int dead)
{
    size_t bytes = element_bytes(value->dtype);
    for (size_t r = 0; value->place == MLP_ARENA && r < p->rows; r++)
        memset(map + value->offset + r * value->ld * bytes, dead, value->width * bytes);
}

/* From the last step to the first: before a step, what it reads is alive, and what it writes is dead unless read. */
static void find_dead(struct proof *p)
{
    const mlp_model *model = p->model;
    size_t bytes = model->arena_bytes;
    p->dead = take(model->step_count, bytes);
    memset(p->dead, 1, model->step_count * bytes);
    for (size_t i = model->step_count; i-- > 0;) {
        const mlp_step *step = &model->steps[i];
        unsigned char *map = p->dead + i * bytes;
        if (i + 1 < model->step_count)
            memcpy(map, map + bytes, bytes);
        mark(p, map, &model->values[step->out], 1);
        for (size_t o = 0; o < step->op_count; o++) {
            for (int j = 0; j < 3; j++) {
                if (step->ops[o].in[j].kind == MLP_VALUE)
                    mark(p, map, &model->values[step->ops[o].in[j].index], 0);
            }
        }
    }
}

static size_t output_bytes(const struct proof *p, size_t i)
{
    return p->rows * p->model->outputs[i].width * element_bytes(p->model->outputs[i].dtype);
}

static void clear_outputs(const struct proof *p)
{
    for (size_t i = 0; i < p->model->output_count; i++)
        memset(p->outputs[i], 0, output_bytes(p, i));
}

static int same_outputs(const struct proof *p)
{
    for (size_t i = 0; i < p->model->output_count; i++) {
        if (memcmp(p->first[i], p->outputs[i], output_bytes(p, i)))
            return 0;
    }
    return 1;
}

static mlp_status run(const struct proof *p)
{
    return p->model->run(p->rows, (const void *const *)p->inputs, p->outputs);
}

static const char *run_steps(const struct proof *p)
{
    size_t bytes = p->model->arena_bytes;
    if (p->model->begin(p->rows, (const void *const *)p->inputs, p->outputs) != MLP_OK)
        return "begin fails";
    for (size_t i = 0; i < p->model->step_count; i++) {
        for (size_t j = 0; j < bytes; j++) {
            if (p->dead[i * bytes + j])
                p->arena[j] = POISON;
        }
        if (p->model->run_step(i) != MLP_OK)
            return "a step fails";
    }
    return NULL;
}

static const char *run_thrice(struct proof *p)
{
    if (run(p) != MLP_OK)
        return "run fails";
    for (size_t i = 0; i < p->model->output_count; i++)
        memcpy(p->first[i], p->outputs[i], output_bytes(p, i));
    fill(p->arena, POISON, p->model->arena_bytes);
    clear_outputs(p);
    if (run(p) != MLP_OK || !same_outputs(p))
        return "what stood in the arena before a run changes its outputs";
    find_dead(p);
    clear_outputs(p);
    const char *wrong = run_steps(p);
    free(p->dead);
    return wrong || same_outputs(p) ? wrong : "what stands in dead buffers changes the outputs";
}

static void **take_outputs(const struct proof *p)
{
    void **outputs = take(p->model->output_count, sizeof *outputs);
    for (size_t i = 0; i < p->model->output_count; i++)
        outputs[i] = take(output_bytes(p, i), 1);
    return outputs;
}

const char *prove(const mlp_model *model, void *arena)
{
    struct proof p = {.model = model, .arena = arena};
    p.rows = model->chunk < MOST_ROWS ? model->chunk : MOST_ROWS;
    p.inputs = take(model->input_count, sizeof *p.inputs);
    p.outputs = take_outputs(&p);
    p.first = take_outputs(&p);
    for (size_t i = 0; i < model->input_count; i++) {
        size_t count = p.rows * model->inputs[i].width;
        p.inputs[i] = take(count, 4);
        fill_input(p.inputs[i], count, model->inputs[i].dtype);
    }
    const char *wrong = model->init(NULL) != MLP_OK ? "init fails" : run_thrice(&p);
    model->close();
    give_back(p.inputs, model->input_count);
    give_back(p.outputs, model->output_count);
    give_back(p.first, model->output_count);
    return wrong;
}
