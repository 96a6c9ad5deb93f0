/* Specs become graphs: what is read, what is named, what is expanded, and where the limits are. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "lower.h"

struct compiled {
    struct arena *arena;
    struct source source;
    struct diags *diags;
    struct graph *graph;            /* NULL: refused */
};

static struct compiled compile(const char *text)
{
    static const struct diag_options usual;
    struct compiled c = {.arena = arena_new(), .source = {"test.mlp", text, strlen(text)}};
    c.diags = diags_new(c.arena, &c.source, &usual);
    struct spec *spec = parse_spec(c.arena, c.diags, &c.source);
    if (spec && check_spec(spec, c.arena, c.diags))
        c.graph = lower_spec(c.arena, spec, c.diags);
    assert_int_equal(diags_status(c.diags), c.graph ? EXIT_DONE : EXIT_USER);
    if (c.graph)
        graph_check(c.graph);
    return c;
}

/* The body of a model with an input x of 4 columns. */
static struct compiled compile_body(struct arena *arena, const char *body)
{
    return compile(arena_format(arena, "model m { input x: f32[4]; %s }", body));
}

static const struct node *output(const struct compiled *c, size_t i)
{
    return graph_node(c->graph, c->graph->outputs.at[i].node);
}

/* ---- Values ---- */

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *string, *tensor;
    } rows[] = {
        {"\"a{n}\"", "a3"}, {"\"{f}\"", "0.5"}, {"\"{name}.{n}\"", "fc.3"}, {"\"{{{n}}}\"", "{3}"}, {"name", "fc"},
        {"\"\"", ""}, {"\"q\\\"b\\\\n\\nt\\t\"", "q\"b\\n\nt\t"}, {"\"{low}\"", "-9223372036854775808"},
        {"\"{k}{k}\"", "77"}, {"\"é\"", "é"},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct compiled c = compile(arena_format(
            arena, "const n = 3, f = 1 / 2., low = -9223372036854775807 - 1;\n"
                   "model m { input x: f32[4]; name = \"fc\"; k = n + 4;"
                   "          output y = linear(x, 2, weight=%s, bias=false); }",
            rows[i].string));
        assert_non_null(c.graph);
        assert_string_equal(output(&c, 0)->param[0]->tensor, rows[i].tensor);
        arena_free(c.arena);
    }
    arena_free(arena);
}

static void test_widths(void **state)
{
    (void)state;
    static const struct {
        const char *expr;
        int64_t width;          /* 0: refused */
    } rows[] = {
        {"x + x", 4}, {"x + mean(x)", 4}, {"mean(x) - x", 4}, {"x * 2", 4}, {"2 - x", 4}, {"x + param(\"p\", 4)", 4},
        {"x + param(\"p\", 1)", 4}, {"x + param(\"p\", 3)", 0}, {"concat(x, x[1:3], 1)", 7}, {"concat(x)", 4},
        {"concat(3)", 0}, {"x[0:4]", 4}, {"x[3:4]", 1}, {"x[3:5]", 0}, {"x[2:2]", 0}, {"x[3:2]", 0}, {"x[-1:2]", 0},
        {"dot(x, x)", 1}, {"dot(x, x[0:1])", 0}, {"maximum(0, x)", 4}, {"linear(x, maximum(3, 5), \"p\")", 5},
        {"linear(x, 2147483647, \"p\")", 2147483647}, {"linear(x, 2147483648, \"p\")", 0},
        {"linear(x, 8.0, \"p\")", 8},
        {"linear(x, 1e300, \"p\")", 0}, {"softmax(x)", 4}, {"clamp(x, lo=-1, hi=1)", 4}, {"identity(x)", 4},
        {"layernorm(x, affine=false)", 4}, {"rmsnorm(x, weight=\"w\")", 4},
        {"layernorm(x, weight=\"w\", bias=false)", 4},
        {"linear(x, 3, \"p\", false, true)", 3}, {"batchnorm(x, \"p\", 1e-3)", 4}, {"3", 0},
        {"\"s\"", 0}, {"relu(3)", 0},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct compiled c = compile_body(arena, arena_format(arena, "output y = %s;", rows[i].expr));
        if ((c.graph != NULL) != (rows[i].width != 0))
            fail_msg("%s", rows[i].expr);
        if (c.graph)
            assert_int_equal(output(&c, 0)->width, rows[i].width);
        arena_free(c.arena);
    }
    arena_free(arena);
}

static void test_parameters(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct compiled c = compile_body(arena, "output a = batchnorm(x, \"bn\", mean=\"m\");"
                                            "output b = linear(x, 3, weight=\"w\", bias=\"v\", transposed=true);"
                                            "output c = rmsnorm(x, \"r\", offset=1);"
                                            "output d = layernorm(x, \"n\", affine=false);"
                                            "output e = linear(x, 3, \"p\", \"q\");");
    assert_non_null(c.graph);
    static const char *const tensors[] = {"bn.weight", "bn.bias", "m", "bn.running_var", "w", "v", "r.weight",
                                          "p.weight", "q"};
    assert_int_equal(c.graph->sources.count, sizeof tensors / sizeof *tensors);
    for (size_t i = 0; i < c.graph->sources.count; i++)
        assert_string_equal(c.graph->sources.at[i]->tensor, tensors[i]);
    assert_int_equal(output(&c, 0)->op, OP_AFFINE);
    assert_int_equal(output(&c, 0)->param[1]->of_count, 4);
    assert_true(output(&c, 0)->param[1]->eps == 1e-5);
    assert_true(output(&c, 1)->param[0]->transposed);
    assert_int_equal(output(&c, 1)->param[0]->rows, 3);
    assert_int_equal(output(&c, 1)->param[0]->cols, 4);
    assert_true(output(&c, 2)->attr[0] == 1e-6 && output(&c, 2)->attr[1] == 1);
    assert_null(output(&c, 3)->param[0]);
    arena_free(c.arena);
    arena_free(arena);
}

static void test_settings(void **state)
{
    (void)state;
    struct compiled c = compile("const n = 8; model m { output y = x; input x: f16[n]; }");
    assert_null(c.graph);           /* an input is declared before it is read */
    arena_free(c.arena);
    c = compile("const n = 8; model m { input x: f16[n]; output y = x; output z: bf16 = x;"
                "                      batch n, 1, 8, 3; dtype tf32; }");
    assert_non_null(c.graph);
    assert_int_equal(c.graph->batches.count, 3);
    assert_int_equal(c.graph->batches.at[0], 1);
    assert_int_equal(c.graph->batches.at[1], 3);
    assert_int_equal(c.graph->batches.at[2], 8);
    assert_int_equal(c.graph->dtype, DTYPE_TF32);
    assert_int_equal(c.graph->inputs.at[0].dtype, DTYPE_F16);
    assert_int_equal(c.graph->outputs.at[0].dtype, DTYPE_F32);
    assert_int_equal(c.graph->outputs.at[1].dtype, DTYPE_BF16);
    arena_free(c.arena);
}

/* ---- Names and scopes ---- */

static void test_scopes(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool sound;
    } rows[] = {
        {"relu = relu(x); output y = relu;", true},
        {"h = x; repeat i in 0..3 { h = h * i; } i = h; output y = i;", true},
        {"repeat i in 3..3 { h = x; } output y = x;", true},
        {"i = x; repeat i in 0..2 { h = x * i; } output y = i + h;", true},
        {"repeat i in 0..2 { h = x * i; } output y = h * i;", false},
        {"repeat i in 0..2 { repeat i in 0..2 { } } output y = x;", false},
        {"output y = x; y = relu(y); output z = y;", true},
        {"output x;", false},
        {"n = 5; output y = x * n; n = x; output z = n;", true},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct compiled c = compile_body(arena, rows[i].body);
        if ((c.graph != NULL) != rows[i].sound)
            fail_msg("%s", rows[i].body);
        arena_free(c.arena);
    }
    arena_free(arena);
}

static void test_blocks(void **state)
{
    (void)state;
    struct compiled c = compile("const k = 2; block f(k, name) { h = linear(k, 3, name); return h; }"
                                "block relu(a) { return minimum(a, 1); }"
                                "block g(a, on) { h = relu(f(a, name=\"fc\")); return linear(h, 3, \"g\", bias=on); }"
                                "model m { input x: f32[4]; h = x * k; top = g(h, on=false);"
                                "          output y = top + 0; output h; }");
    assert_non_null(c.graph);
    const struct node *sum = output(&c, 0), *top = graph_node(c.graph, sum->in[0]);
    assert_int_equal(top->op, OP_LINEAR);
    assert_string_equal(top->name, "top");
    assert_null(top->param[1]);
    assert_int_equal(graph_node(c.graph, top->in[0])->op, OP_MINIMUM);
    assert_int_equal(output(&c, 1)->op, OP_MUL);        /* the caller's h */
    arena_free(c.arena);
}

/* ---- Limits ---- */

static const char *repeat_text(struct arena *arena, const char *part, int count)
{
    size_t length = strlen(part);
    char *text = ARENA_ARRAY(arena, char, length * (size_t)count + 1);
    for (int i = 0; i < count; i++)
        memcpy(text + length * (size_t)i, part, length);
    return text;
}

static void test_long_chain(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct compiled c = compile_body(arena, arena_format(arena, "output y = x%s;", repeat_text(arena, " + x", 100000)));
    assert_non_null(c.graph);
    assert_int_equal(c.graph->nodes.count, 100001);
    arena_free(c.arena);
    arena_free(arena);
}

static void test_nesting(void **state)
{
    (void)state;
    static const struct {
        const char *begin, *end;
        int levels;
        bool sound;
    } rows[] = {
        {"-", "", 1000, true},      {"-", "", 100000, false},       {"(", ")", 1000, true},  {"(", ")", 100000, false},
        {"relu(", ")", 1000, true}, {"relu(", ")", 100000, false},  {"(1 + ", ")", 1000, true},
        {"", "[0:2]", 1000, true},  {"", "[0:2]", 100000, false},   {"relu(", "", 100000, false},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct compiled c = compile_body(arena, arena_format(arena, "output y = %sx%s;",
                                                             repeat_text(arena, rows[i].begin, rows[i].levels),
                                                             repeat_text(arena, rows[i].end, rows[i].levels)));
        assert_true((c.graph != NULL) == rows[i].sound);
        arena_free(c.arena);
    }
    arena_free(arena);
}

/* A thousand blocks, each of which calls the one above. */
static void test_block_depth(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    char *text = ARENA_ARRAY(arena, char, 1 << 20), *end = text;
    end += sprintf(end, "block b0(a) { return relu(a); }\n");
    for (int i = 1; i < 1000; i++)
        end += sprintf(end, "block b%d(a) { h = b%d(a); return -h; }\n", i, i - 1);
    sprintf(end, "model m { input x: f32[4]; output y = b999(x); }");
    struct compiled c = compile(text);
    assert_non_null(c.graph);
    assert_int_equal(c.graph->nodes.count, 1001);
    arena_free(c.arena);
    arena_free(arena);
}

static void test_statements(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct compiled c = compile_body(arena, "h = x; repeat i in 0..100000 { h = -h; } output y = h;");
    assert_non_null(c.graph);
    assert_int_equal(c.graph->nodes.count, 100001);
    arena_free(c.arena);
    c = compile_body(arena, "repeat i in 0..1000000000000 { } output y = x;");
    assert_null(c.graph);
    arena_free(c.arena);
    c = compile_body(arena, "s = \"ab\"; repeat i in 0..100 { s = \"{s}{s}\"; } output y = linear(x, 4, s);");
    assert_null(c.graph);
    arena_free(c.arena);
    arena_free(arena);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),       cmocka_unit_test(test_widths),      cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_settings),    cmocka_unit_test(test_scopes),      cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_long_chain),  cmocka_unit_test(test_nesting),     cmocka_unit_test(test_block_depth),
        cmocka_unit_test(test_statements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
