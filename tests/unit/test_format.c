/* The layout of specs: what it is, and that it loses nothing, for every spec of the project, as it is and with comments
 * and blanks of all kinds between all tokens. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ast.h"
#include "format.h"
#include "lexemes.h"
#include "output.h"

static struct diags *quiet(struct arena *arena, const struct source *source)
{
    static const struct diag_options usual;
    return diags_new(arena, source, &usual);
}

/* A spec's tree as text, or NULL where the parser refuses it. */
static const char *tree(struct arena *arena, const char *text, size_t length)
{
    struct source source = {"test.mlp", text, length};
    struct spec *spec = parse_spec(arena, quiet(arena, &source), &source);
    char *dump;
    size_t size;
    if (!spec)
        return NULL;
    FILE *file = open_memstream(&dump, &size);
    ast_dump(spec, file);
    fclose(file);
    const char *copy = arena_copy(arena, dump, size);
    free(dump);
    return copy;
}

static const char *format(struct arena *arena, const char *text, size_t length)
{
    struct source source = {"test.mlp", text, length};
    const char *formatted = format_spec(arena, quiet(arena, &source), &source, &length);
    assert_int_equal(length, strlen(formatted));
    return formatted;
}

/* ---- What it is ---- */

static void test_layout(void **state)
{
    (void)state;
    static const struct {
        const char *source, *formatted;
    } rows[] = {
        {"", ""},
        {" \t\r\n\n", ""},
        {"\xef\xbb\xbf", ""},
        {"#c", "#c\n"},
        {"\xef\xbb\xbf  # c \t\r\n", "# c\n"},
        {"\n\n# a\n\n\n\n# b\n", "# a\n\n# b\n"},
        {"const a=1,b=-a*( 2+a ) ;", "const a = 1, b = -a * (2 + a);\n"},
        {"block f ( ) { return x [ 1 : n+1 ] ; }", "block f() {\n    return x[1:n + 1];\n}\n"},
        {"model m{}", "model m {\n}\n"},
        /* statements */
        {"model m{input x:f32[4];output y:f16=relu(x);output x2;}",
         "model m {\n    input x: f32[4];\n    output y: f16 = relu(x);\n    output x2;\n}\n"},
        {"model m { h = linear( x,4 , bias = false, weight=\"a b\" ); }",
         "model m {\n    h = linear(x, 4, bias=false, weight=\"a b\");\n}\n"},
        {"model m { h = a - -b - - -c * -(d); }", "model m {\n    h = a - -b - --c * -(d);\n}\n"},
        {"model m { repeat i in 0 .. n-1 { repeat j in i..3 { h = h+x; } } }",
         "model m {\n    repeat i in 0..n - 1 {\n        repeat j in i..3 {\n            h = h + x;\n        }\n    }\n"
         "}\n"},
        {"model m { repeat i in 2. .. 3 { } }", "model m {\n    repeat i in 2. .. 3 {\n    }\n}\n"},
        {"model m { repeat i in (2.)..(3.) { } }", "model m {\n    repeat i in (2.)..(3.) {\n    }\n}\n"},
        /* settings */
        {"model m { batch 1; dtype f16; input x: f32[1]; }",
         "model m {\n    batch 1;\n    dtype f16;\n    input x: f32[1];\n}\n"},
        {"model m { batch 1; # c\n weights \"w\"; }", "model m {\n    batch   1;  # c\n    weights \"w\";\n}\n"},
        {"model m { batch 1;\n\n weights \"w\"; }", "model m {\n    batch 1;\n\n    weights \"w\";\n}\n"},
        {"model m { batch 1; h = x; weights \"w\"; dtype f16; }",
         "model m {\n    batch 1;\n    h = x;\n    weights \"w\";\n    dtype   f16;\n}\n"},
        /* blank lines */
        {"const a = 1;\n\n\n\n\nmodel m {\n\n\n a = 1;\r\n\r\n\r\n b = 2;\n c = 3;\n\n}\n\n\n",
         "const a = 1;\n\nmodel m {\n    a = 1;\n\n    b = 2;\n    c = 3;\n}\n"},
        {"model m { # a\n\n # b\n\n}", "model m {  # a\n    # b\n}\n"},
        {"model m {\n # b\n\n h = x;\n}", "model m {\n    # b\n\n    h = x;\n}\n"},
        /* comments */
        {"model m { a = 1; # 1\n bbb = 2;# 2  \n c = 3;\n dddd = 4; # 4\n\n e = 5; # 5\n}#end",
         "model m {\n    a = 1;    # 1\n    bbb = 2;  # 2\n    c = 3;\n    dddd = 4;  # 4\n\n    e = 5;  # 5\n"
         "}  #end\n"},
        {"model m {\n    a = 1;   # 1\n             # 2\n           # 3\n}",
         "model m {\n    a = 1;  # 1\n            # 2\n    # 3\n}\n"},
        {"# a\nmodel # b\nm # c\n{ # d\n h # e\n = # f\n x # g\n ; # h\n # i\n } # j\n# k",
         "# a\nmodel  # b\n    m  # c\n{  # d\n    h  # e\n        =  # f\n        x  # g\n        ;  # h\n    # i\n"
         "}  # j\n# k\n"},
        {"model m { h = f( # a\n g(x, # b\n\n # c\n y) , [ # d\n", NULL},
        {"model m { h = f( # a\n g(x, # b\n\n # c\n y), # d\n z\n # e\n ); }",
         "model m {\n    h = f(  # a\n        g(x,  # b\n            # c\n            y),  # d\n        z\n"
         "        # e\n    );\n}\n"},
        {"model m { h = \"# no\"; # \"yes\n }", "model m {\n    h = \"# no\";  # \"yes\n}\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        size_t length = strlen(rows[i].source);
        if (rows[i].formatted)
            assert_string_equal(format(arena, rows[i].source, length), rows[i].formatted);
        else
            assert_null(tree(arena, rows[i].source, length));
        arena_free(arena);
    }
}

/* Lines end by the 100th column, at the outermost place that there is. */
static void test_breaks(void **state)
{
    (void)state;
    static const struct {
        const char *source, *formatted;
    } rows[] = {
        {"model m { output y = layernorm(x + linear(h, 384, \"out.dense\"), \"output.LayerNorm2\", eps=1e-12); }",
         "model m {\n    output y = layernorm(x + linear(h, 384, \"out.dense\"), \"output.LayerNorm2\", eps=1e-12);\n"
         "}\n"},
        {"model m { output y = layernorm(x + linear(h, 384, \"output.dense\"), \"output.LayerNorm.number.1\", "
         "eps=1e-12); }",
         "model m {\n    output y = layernorm(x + linear(h, 384, \"output.dense\"), \"output.LayerNorm.number.1\",\n"
         "        eps=1e-12);\n}\n"},
        {"model m { y = silu(linear(x, 4096, \"layers.0.gate\")) * linear(x, 4096, \"layers.0.up\") + "
         "linear(x, 4096, \"skip\") * 2; }",
         "model m {\n    y = silu(linear(x, 4096, \"layers.0.gate\")) * linear(x, 4096, \"layers.0.up\")\n"
         "        + linear(x, 4096, \"skip\") * 2;\n}\n"},
        {"model m { y = relu(concat(aaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbb, cccccccccccccccccccccccccccccc, "
         "dddddddddddddddd), 1); }",
         "model m {\n    y = relu(concat(aaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbb, "
         "cccccccccccccccccccccccccccccc,\n            dddddddddddddddd), 1);\n}\n"},
        /* a letter of two bytes is one column */
        {"model m { h = linear(x, 4, \""
         "éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé\", bias=f); }",
         "model m {\n    h = linear(x, 4, \""
         "éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé\", "
         "bias=f);\n}\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        assert_string_equal(format(arena, rows[i].source, strlen(rows[i].source)), rows[i].formatted);
        arena_free(arena);
    }
}

/* ---- That it loses nothing ---- */

static bool is_blank(char c)
{
    return c && strchr(" \t\r\n\f\v", c);
}

/* All comments of a sound spec, a line each. */
static const char *comments(struct arena *arena, const char *text)
{
    VEC(char) found = {0};
    bool quoted = false;
    for (; *text; text++) {
        if (*text == '"')
            quoted = !quoted;
        else if (quoted && *text == '\\')
            text++;
        if (quoted || *text != '#')
            continue;
        size_t length = strcspn(text, "\n"), next = length;
        while (is_blank(text[length - 1]))
            length--;
        for (size_t i = 0; i < length; i++)
            VEC_PUSH(arena, &found, text[i]);
        VEC_PUSH(arena, &found, '\n');
        text += next - 1;
    }
    VEC_PUSH(arena, &found, '\0');
    return found.at;
}

static void assert_tidy(const char *path, const char *text)
{
    bool tidy = *text != '\n' && !strstr(text, "\n\n\n") && !strstr(text, " \n") && !strstr(text, "{\n\n");
    if (!tidy || (*text && text[strlen(text) - 1] != '\n'))
        fail_msg("%s: blanks too many or an end of line too few:\n%s", path, text);
}

static void assert_keeps(struct arena *arena, const char *path, const char *text)
{
    size_t length = strlen(text);
    const char *before = tree(arena, text, length), *formatted = format(arena, text, length);
    const char *after = tree(arena, formatted, strlen(formatted));
    if (!before || !after || strcmp(before, after))
        fail_msg("%s: another tree after formatting:\n%s", path, formatted);
    if (strcmp(comments(arena, text), comments(arena, formatted)))
        fail_msg("%s: other comments after formatting:\n%s", path, formatted);
    if (strcmp(formatted, format(arena, formatted, strlen(formatted))))
        fail_msg("%s: formatting once more changes:\n%s", path, formatted);
    assert_tidy(path, formatted);
}

/* The text with something else between its tokens; between[i % count] before the i-th. */
static const char *with_between(struct arena *arena, const char *text, const char *const *between, size_t count)
{
    struct source source = {"test.mlp", text, strlen(text)};
    struct lexemes lexemes = read_lexemes(arena, quiet(arena, &source), &source);
    VEC(char) result = {0};
    size_t seen = 0;
    for (size_t i = 0; i <= lexemes.list.count; i++) {
        const struct lexeme *lexeme = &lexemes.list.at[i];
        if (i < lexemes.list.count && lexeme->kind == LEXEME_COMMENT)
            continue;
        for (const char *c = between[seen++ % count]; *c; c++)
            VEC_PUSH(arena, &result, *c);
        for (size_t j = 0; i < lexemes.list.count && j < lexeme->length; j++)
            VEC_PUSH(arena, &result, lexeme->text[j]);
    }
    VEC_PUSH(arena, &result, '\0');
    return result.at;
}

static const char *const blanks[] = {" ", "\t", "\r\n", "\n\n\n", "\f\v \t", "  \n\t\n  "};
static const char *const every_place[] = {"# one\n", " # two \t\r\n", "\n# three\n", "\n\n    # four\n\n# five\n\n\n"};
static const char *const some_places[] = {" ", "\n", "   ", " # one\n", "\t", "\n\n", " # two\n  # three\n"};

static int formatted_files;

static void try_file(const char *path)
{
    struct arena *arena = arena_new();
    size_t length;
    const char *text = input_read(arena, NULL, path, &length);
    assert_non_null(text);
    if (tree(arena, text, length)) {
        formatted_files++;
        assert_keeps(arena, path, text);
        assert_keeps(arena, path, with_between(arena, text, blanks, 6));
        assert_keeps(arena, path, with_between(arena, text, every_place, 4));
        assert_keeps(arena, path, with_between(arena, text, some_places, 7));
    }
    arena_free(arena);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), size = strlen(end);
    return length > size && !strcmp(text + length - size, end);
}

static void walk(const char *folder, void (*visit)(const char *path))
{
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (ends_with(path, ".mlp"))
            visit(path);
        else if (entry->d_type == DT_DIR && *entry->d_name != '.')
            walk(path, visit);
    }
    closedir(entries);
}

static void test_keeps_all(void **state)
{
    (void)state;
    walk("specs", try_file);
    walk("tests", try_file);
    assert_true(formatted_files > 150);
}

/* ---- That the project's own specs have the layout ---- */

static void assert_formatted(const char *path)
{
    struct arena *arena = arena_new();
    size_t length;
    const char *text = input_read(arena, NULL, path, &length);
    if (!tree(arena, text, length) || strcmp(text, format(arena, text, length)))
        fail_msg("%s: mlpc --format=write changes it", path);
    arena_free(arena);
}

/* Models that stand in a text, indented by four. */
static void assert_models_formatted(const char *path)
{
    struct arena *arena = arena_new();
    size_t length;
    int models = 0;
    const char *text = input_read(arena, NULL, path, &length);
    for (const char *at = text; (at = strstr(at, "\n    model "));) {
        VEC(char) model = {0};
        at++;
        if (strcspn(at, "{") > strcspn(at, "=\n"))
            continue;               /* the grammar */
        models++;
        const char *end = strstr(at, "\n    }\n");
        assert_non_null(end);
        for (; at < end + 7; at += strcspn(at, "\n") + 1) {
            for (const char *c = at + (*at == ' ' ? 4 : 0); c == at || c[-1] != '\n'; c++)
                VEC_PUSH(arena, &model, *c);
        }
        VEC_PUSH(arena, &model, '\0');
        assert_non_null(tree(arena, model.at, strlen(model.at)));
        assert_string_equal(model.at, format(arena, model.at, strlen(model.at)));
    }
    assert_true(models > 0);
    arena_free(arena);
}

static void test_own_specs(void **state)
{
    (void)state;
    walk("specs", assert_formatted);
    assert_models_formatted("README.md");
    assert_models_formatted("specs/README.md");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_breaks),
        cmocka_unit_test(test_keeps_all),
        cmocka_unit_test(test_own_specs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
