/* The language's reference, specs/README.md, holds to the compiler: each function with its arguments and defaults, each
 * reserved word in the grammar, and examples that compile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "functions.h"
#include "lower.h"
#include "output.h"

static struct arena *arena;
static const char *reference;

static int read_reference(void **state)
{
    (void)state;
    size_t length;
    arena = arena_new();
    reference = input_read(arena, NULL, "specs/README.md", &length);
    return reference ? 0 : -1;
}

static int forget_reference(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

/* The text from a heading to the next of its level or a higher one. */
static const char *section(const char *heading)
{
    const char *begin = strstr(reference, arena_format(arena, "\n%s", heading));
    if (!begin)
        fail_msg("specs/README.md has no '%s'", heading);
    const char *end = begin + 1;
    size_t level = strspn(end, "#");
    do
        end = strstr(end + 1, "\n#");
    while (end && strspn(end + 1, "#") > level);
    return arena_copy(arena, begin, end ? (size_t)(end - begin) : strlen(begin));
}

static const char *usage_of(const struct function *function)
{
    return arena_format(arena, "`%s`", function->usage);
}

/* A function of several arguments has a section of its own, which must tell all of them; others have a table's row. */
static void test_functions(void **state)
{
    (void)state;
    const char *all = section("## Functions\n");
    for (int i = 0; i < function_count; i++) {
        const struct function *function = &functions[i];
        const char *own = strstr(all, arena_format(arena, "\n### %s\n", usage_of(function)));
        const char *row = strstr(all, usage_of(function));
        if (!row)
            fail_msg("specs/README.md lacks %s", usage_of(function));
        const char *text = own ? section(arena_format(arena, "### %s\n", usage_of(function))) : row;
        for (int j = 0; j < function->parameter_count; j++) {
            const struct parameter *parameter = &function->parameters[j];
            const char *keyword = arena_format(arena, parameter->required ? "`%s" : "`%s=", parameter->name);
            if (own && parameter->use != USE_PLACE && !strstr(text, keyword))
                fail_msg("specs/README.md lacks the argument %s of %s", parameter->name, function->name);
            if (!own)
                assert_true(parameter->use != USE_KEYWORD);     /* the usage says it all */
        }
    }
}

/* "eps=1e-5" of a usage is what the compiler takes. */
static void test_defaults(void **state)
{
    (void)state;
    int defaults = 0;
    for (int i = 0; i < function_count; i++) {
        for (int j = 0; j < functions[i].parameter_count; j++) {
            const struct parameter *parameter = &functions[i].parameters[j];
            const char *given = strstr(functions[i].usage, arena_format(arena, "%s=", parameter->name));
            if (parameter->required || parameter->kind == ARGUMENT_STRING)
                continue;
            assert_non_null(given);
            given += strlen(parameter->name) + 1;
            bool truth = parameter->kind == ARGUMENT_TRUTH || parameter->kind == ARGUMENT_TRUTH_OR_STRING;
            double value = truth ? !strncmp(given, "true", 4) : strtod(given, NULL);
            assert_true(value == parameter->fallback);
            defaults++;
        }
    }
    assert_true(defaults > 8);
}

/* All indented lines of a section. */
static const char *examples(const char *heading)
{
    const char *text = "";
    for (const char *line = section(heading); *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (!strncmp(line, "    ", 4))
            text = arena_format(arena, "%s%.*s\n", text, (int)strcspn(line, "\n"), line);
    }
    return text;
}

static void test_examples(void **state)
{
    (void)state;
    const char *body = examples("## Functions\n");
    const char *text = arena_format(arena, "model m {\ninput x: f32[64];\ninput a: f32[16];\ninput b: f32[16];\n"
                                           "%soutput y = x;\n}\n", body);
    static const struct diag_options usual;
    struct source source = {"examples.mlp", text, strlen(text)};
    struct diags *diags = diags_new(arena, &source, &usual);
    struct spec *spec = parse_spec(arena, diags, &source);
    if (!spec || !check_spec(spec, arena, diags) || !lower_spec(arena, spec, diags)) {
        diags_print(diags, stderr);
        fail_msg("an example of specs/README.md does not compile");
    }
    for (int i = 0; i < function_count; i++) {
        if (!strstr(body, arena_format(arena, " %s(", functions[i].name)) &&
            !strstr(body, arena_format(arena, "(%s(", functions[i].name)))
            fail_msg("specs/README.md has no example of %s", functions[i].name);
    }
}

static bool in_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Whether a word stands in the list of reserved words. */
static bool is_listed(const char *lexis, const char *word)
{
    const char *list = strstr(lexis, "Reserved: `");
    list = list ? list + strlen("Reserved: `") : "";
    const char *end = list + strcspn(list, "`");
    for (const char *at = list; (at = strstr(at, word)) && at < end; at++) {
        if (!in_word(at[-1]) && !in_word(at[strlen(word)]))
            return true;
    }
    return false;
}

/* The scanner's words, as the grammar has them: "model" return TOKEN_MODEL; */
static void test_reserved_words(void **state)
{
    (void)state;
    size_t length;
    const char *grammar = section("## Grammar\n"), *lexis = section("## Lexis\n");
    int words = 0;
    for (const char *at = input_read(arena, NULL, "compiler/lex.l", &length); (at = strstr(at, "\n\"")); at += 2) {
        const char *quoted = arena_copy(arena, at + 1, 2 + strcspn(at + 2, "\"\n"));
        const char *behind = at + 1 + strlen(quoted);
        if (quoted[1] < 'a' || quoted[1] > 'z' || strncmp(behind + strspn(behind, " "), "return TOKEN_", 13))
            continue;
        words++;
        if (!strstr(grammar, quoted))
            fail_msg("the grammar of specs/README.md lacks %s", quoted);
        const char *word = arena_copy(arena, quoted + 1, strlen(quoted) - 2);
        if (!is_listed(lexis, word))
            fail_msg("specs/README.md does not list %s among the reserved words", word);
    }
    assert_true(words > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_reserved_words),
    };
    return cmocka_run_group_tests(tests, read_reference, forget_reference);
}
