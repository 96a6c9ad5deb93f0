/* What the files for editors say of the language: all of its words and functions, each as what it is, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "functions.h"
#include "output.h"

#define EDITORS "compiler/editors/"

struct words {
    VEC(const char *) list;
};

static void add_word(struct arena *arena, struct words *words, const char *text, size_t length)
{
    VEC_PUSH(arena, &words->list, arena_copy(arena, text, length));
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *sorted(struct arena *arena, struct words *words)
{
    const char *text = "";
    qsort(words->list.at, words->list.count, sizeof *words->list.at, compare);
    for (size_t i = 0; i < words->list.count; i++)
        text = arena_format(arena, "%s%s ", text, words->list.at[i]);
    return text;
}

static const char *read_file(struct arena *arena, const char *path)
{
    size_t length;
    const char *text = input_read(arena, NULL, path, &length);
    assert_non_null(text);
    return text;
}

static const char *all_functions(struct arena *arena)
{
    struct words words = {0};
    for (int i = 0; i < function_count; i++)
        add_word(arena, &words, functions[i].name, strlen(functions[i].name));
    return sorted(arena, &words);
}

/* The scanner's rules for words: "model" return TOKEN_MODEL; */
static const char *reserved_words(struct arena *arena)
{
    struct words words = {0};
    for (const char *at = read_file(arena, "compiler/lex.l"); (at = strstr(at, "\n\"")); at += 2) {
        size_t length = strcspn(at + 2, "\"\n");
        const char *behind = at + 2 + length + 1;
        if (at[2] >= 'a' && at[2] <= 'z' && !strncmp(behind + strspn(behind, " "), "return TOKEN_", 13))
            add_word(arena, &words, at + 2, length);
    }
    assert_true(words.list.count > 10);
    return sorted(arena, &words);
}

static const char *const types = "bf16 f16 f32 tf32 ";

/* ---- Vim ---- */

/* Words of `syntax keyword GROUP [contained] ...`: of one group, or of all but those two that are no reserved words. */
static const char *vim_words(struct arena *arena, const char *group)
{
    struct words words = {0};
    const char *at = read_file(arena, EDITORS "vim/syntax/mlp.vim");
    while ((at = strstr(at, "\nsyntax keyword "))) {
        const char *end = strchr(at + 1, '\n'), *name = at + strlen("\nsyntax keyword ");
        size_t length = strcspn(name, " ");
        bool other = !strncmp(name, "mlpFunction", length) || !strncmp(name, "mlpType", length) ||
                     !strncmp(name, "mlpTodo", length);
        for (at = name + length; at < end && (group ? !strncmp(name, group, length) : !other); at += length) {
            at += strspn(at, " ");
            length = strcspn(at, " \n");
            if (strncmp(at, "contained", length))
                add_word(arena, &words, at, length);
        }
    }
    return sorted(arena, &words);
}

static void test_vim(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_string_equal(vim_words(arena, "mlpFunction"), all_functions(arena));
    assert_string_equal(vim_words(arena, "mlpType"), types);
    assert_string_equal(vim_words(arena, NULL), reserved_words(arena));
    arena_free(arena);
}

/* ---- VS Code ---- */

/* The words of "\\b(one|two)\\b" patterns whose name begins so. */
static void add_scoped(struct arena *arena, struct words *words, json_t *patterns, const char *scope)
{
    size_t i;
    json_t *pattern;
    json_array_foreach(patterns, i, pattern) {
        const char *name = json_string_value(json_object_get(pattern, "name"));
        const char *match = json_string_value(json_object_get(pattern, "match"));
        if (!name || !match || strncmp(name, scope, strlen(scope)))
            continue;
        for (match = strchr(match, '(') + 1;; match++) {
            size_t length = strcspn(match, "|)");
            add_word(arena, words, match, length);
            match += length;
            if (*match != '|')
                break;
        }
    }
}

static const char *scoped_words(struct arena *arena, json_t *grammar, const char *group, const char *const *scopes)
{
    struct words words = {0};
    json_t *patterns = json_object_get(json_object_get(json_object_get(grammar, "repository"), group), "patterns");
    for (; *scopes; scopes++)
        add_scoped(arena, &words, patterns, *scopes);
    return sorted(arena, &words);
}

static json_t *load(const char *path)
{
    json_error_t error;
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        fail_msg("%s:%d: %s", path, error.line, error.text);
    return json;
}

static void test_vscode(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    json_t *grammar = load(EDITORS "vscode/syntaxes/mlp.tmLanguage.json");
    assert_string_equal(scoped_words(arena, grammar, "call", (const char *[]){"support.function", NULL}),
                        all_functions(arena));
    assert_string_equal(scoped_words(arena, grammar, "word", (const char *[]){"support.type", NULL}), types);
    assert_string_equal(scoped_words(arena, grammar, "word", (const char *[]){"storage", "keyword", "constant", NULL}),
                        reserved_words(arena));
    json_decref(grammar);
    arena_free(arena);
}

/* The package names files that are there. */
static void test_vscode_package(void **state)
{
    (void)state;
    json_t *package = load(EDITORS "vscode/package.json"), *language, *grammar;
    assert_int_equal(json_unpack(package, "{s:{s:[o], s:[o]}}", "contributes", "languages", &language, "grammars",
                                 &grammar), 0);
    const char *files[] = {json_string_value(json_object_get(language, "configuration")),
                           json_string_value(json_object_get(grammar, "path"))};
    for (int i = 0; i < 2; i++) {
        char path[256];
        assert_non_null(files[i]);
        snprintf(path, sizeof path, EDITORS "vscode/%s", files[i]);
        json_decref(load(path));
    }
    json_decref(package);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vim),
        cmocka_unit_test(test_vscode),
        cmocka_unit_test(test_vscode_package),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
