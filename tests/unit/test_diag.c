/* Messages: as text with marks and fixes, as SARIF, and which warnings are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "diag.h"
#include "site.h"
#include "warnings.h"

/* A byte order mark; two-, three- and four-byte characters before, in and behind the spans. */
static const char text[] = "\xef\xbb\xbf" "é = rleu(x)\n"
                           "权 = \"重😀\" + h\n";

static struct arena *arena;
static struct diag_options options;
static struct source source;
static struct diags *diags;

static int begin(void **state)
{
    (void)state;
    arena = arena_new();
    options = (struct diag_options){.color = COLOR_NEVER};
    source = (struct source){"a b/é.mlp", text, strlen(text)};
    diags = diags_new(arena, &source, &options);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static struct span span_of(const char *part)
{
    const char *at = strstr(text, part);
    assert_non_null(at);
    return (struct span){(uint32_t)(at - text), (uint32_t)(at - text + (ptrdiff_t)strlen(part))};
}

static struct span behind(const char *part)
{
    const struct span span = span_of(part);
    return (struct span){span.end, span.end};
}

static const char *printed(void)
{
    char *buffer;
    size_t length;
    FILE *to = open_memstream(&buffer, &length);
    diags_finish(diags, to, diags_status(diags));
    fclose(to);
    const char *copy = arena_copy(arena, buffer, length);
    free(buffer);
    return copy;
}

static void record_some(void)
{
    diag_error(diags, DIAG_UNKNOWN_FUNCTION, span_of("rleu"), "no '%s'", "rleu");
    diag_fix(diags, span_of("rleu"), "%s", "relu");
    diag_fix(diags, behind("(x)"), ";");
    diag_note(diags, span_of("重😀"), "elsewhere");
}

/* ---- Text ---- */

static void test_fixes(void **state)
{
    (void)state;
    record_some();
    diag_error(diags, DIAG_SYNTAX, span_of(" + h"), "too much");
    diag_fix(diags, span_of("重😀"), "x");
    diag_fix(diags, span_of(" + h"), "%s", "");
    assert_string_equal(printed(),
                        "a b/é.mlp:1:9: error: no 'rleu' [unknown-function]\n"
                        "?é = rleu(x)\n"
                        "     ^~~~\n"
                        "     relu   ;\n"
                        "a b/é.mlp:2:8: note: elsewhere\n"
                        "权 = \"重😀\" + h\n"
                        "      ^~~~\n"
                        "a b/é.mlp:2:16: error: too much [syntax]\n"
                        "权 = \"重😀\" + h\n"
                        "           ^~~~\n"
                        "      x    ----\n");
}

/* Notes and fixes behind a warning that is not shown belong to nothing. */
static void test_suppressed(void **state)
{
    (void)state;
    diag_error(diags, DIAG_SYNTAX, span_of("h"), "kept");
    diag_warning(diags, DIAG_UNUSED_TENSOR, span_of("x"), "dropped");
    diag_note(diags, span_of("x"), "dropped");
    diag_fix(diags, span_of("x"), "dropped");
    const char *all = printed();
    assert_non_null(strstr(all, "kept"));
    assert_null(strstr(all, "dropped"));
}

static void test_sites(void **state)
{
    (void)state;
    struct site sites[8];
    for (int i = 0; i < 8; i++)
        sites[i] = (struct site){.outer = i ? &sites[i - 1] : NULL, .span = span_of("x"), .variable = "i", .turn = i};
    sites[2].block = "f";
    static const struct { int depth; const char *notes[7]; } rows[] = {
        {6, {"i = 5", "i = 4", "i = 3", "block 'f'", "i = 1", "i = 0"}},
        {7, {"i = 6", "i = 5", "i = 4", "... 2 more ... in the turn i = 1", "i = 0"}},
        {8, {"i = 7", "i = 6", "i = 5", "... 3 more ... in the turn i = 1", "i = 0"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        diag_error(diags, DIAG_SYNTAX, span_of("x"), "wrong");
        site_notes(diags, &sites[rows[i].depth - 1]);
        const char *at = printed();
        int notes = 0;
        for (const char *note = at; (note = strstr(note, "note: ")); note++)
            notes++;
        for (int j = 0; j < 7 && rows[i].notes[j]; j++, notes--) {
            at = strstr(at, rows[i].notes[j]);
            assert_non_null(at);
        }
        assert_int_equal(notes, 0);
    }
}

/* ---- Warnings ---- */

enum { SILENT, WARNING, ERROR };

static void test_warnings(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        int value, tensor;          /* what unused-value and unused-tensor become */
    } rows[] = {
        {"", WARNING, SILENT}, {"all", WARNING, WARNING}, {"no-all", SILENT, SILENT}, {"error", ERROR, SILENT},
        {"all error", ERROR, ERROR}, {"no-unused-value", SILENT, SILENT}, {"no-unused-value all", SILENT, WARNING},
        {"error=unused-tensor", WARNING, ERROR}, {"error error=unused-tensor", ERROR, ERROR},
        {"error=unused-value no-error", ERROR, SILENT}, {"no-error=unused-value error all", WARNING, ERROR},
        {"no-error=unused-tensor", WARNING, SILENT}, {"no-all unused-value", WARNING, SILENT},
        {"error=unused-value no-unused-value", SILENT, SILENT}, {"error no-error", WARNING, SILENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        options = (struct diag_options){.color = COLOR_NEVER};
        char *words = arena_copy(arena, rows[i].options, strlen(rows[i].options)), *rest = NULL;
        for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            assert_null(warnings_set(&options, arena, word));
        diags = diags_new(arena, &source, &options);
        diag_warning(diags, DIAG_UNUSED_VALUE, span_of("x"), "value");
        diag_warning(diags, DIAG_UNUSED_TENSOR, span_of("h"), "tensor");
        const int expected[] = {rows[i].value, rows[i].tensor};
        const bool fails = rows[i].value == ERROR || rows[i].tensor == ERROR;
        assert_int_equal(diags_status(diags), fails ? EXIT_USER : EXIT_DONE);
        const char *all = printed();
        for (int j = 0; j < 2; j++) {
            static const char *const names[] = {"value", "tensor"};
            for (int form = 0; form < 2; form++) {
                const char *wanted = form ? arena_format(arena, "warning: %s [-Wunused-%s]", names[j], names[j])
                                          : arena_format(arena, "error: %s [-Werror=unused-%s]", names[j], names[j]);
                if (!strstr(all, wanted) != (expected[j] != (form ? WARNING : ERROR)))
                    fail_msg("%s: %s", rows[i].options, all);
            }
        }
    }
    static const char *const unknown[] = {"unused", "no-unused-valeu", "error=syntax", "", "no-", "error="};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_non_null(warnings_set(&options, arena, unknown[i]));
}

/* ---- SARIF ---- */

static json_t *document(void)
{
    json_error_t error;
    options.form = DIAG_SARIF;
    json_t *log = json_loads(printed(), 0, &error);
    if (!log)
        fail_msg("%s", error.text);
    return log;
}

static json_t *run_of(json_t *log)
{
    return json_array_get(json_object_get(log, "runs"), 0);
}

static json_t *result_of(json_t *log, size_t i)
{
    return json_array_get(json_object_get(run_of(log), "results"), i);
}

static void assert_region(const json_t *region, int line, int column, int end_line, int end_column)
{
    assert_int_equal(json_integer_value(json_object_get(region, "startLine")), line);
    assert_int_equal(json_integer_value(json_object_get(region, "startColumn")), column);
    assert_int_equal(json_integer_value(json_object_get(region, "endLine")), end_line);
    assert_int_equal(json_integer_value(json_object_get(region, "endColumn")), end_column);
}

static const json_t *place(const json_t *location)
{
    return json_object_get(json_object_get(location, "physicalLocation"), "region");
}

static void test_sarif(void **state)
{
    (void)state;
    record_some();
    diag_warning(diags, DIAG_UNUSED_VALUE, span_of("h\n"), "a line and its end");
    diag_environment(diags, NULL, "cannot read '%s'", "\xff");
    json_t *log = document(), *result = result_of(log, 0);
    assert_string_equal(json_string_value(json_object_get(log, "version")), "2.1.0");
    assert_string_equal(json_string_value(json_object_get(run_of(log), "columnKind")), "unicodeCodePoints");
    assert_int_equal(json_array_size(json_object_get(run_of(log), "results")), 3);

    assert_string_equal(json_string_value(json_object_get(result, "ruleId")), "unknown-function");
    assert_string_equal(json_string_value(json_object_get(result, "level")), "error");
    const json_t *location = json_array_get(json_object_get(result, "locations"), 0);
    const json_t *artifact = json_object_get(json_object_get(location, "physicalLocation"), "artifactLocation");
    assert_string_equal(json_string_value(json_object_get(artifact, "uri")), "a%20b/%C3%A9.mlp");
    assert_region(place(location), 1, 5, 1, 9);
    assert_region(place(json_array_get(json_object_get(result, "relatedLocations"), 0)), 2, 6, 2, 8);

    const json_t *fix = json_array_get(json_object_get(result, "fixes"), 0);
    const json_t *change = json_array_get(json_object_get(fix, "artifactChanges"), 0);
    const json_t *replacements = json_object_get(change, "replacements");
    assert_int_equal(json_array_size(replacements), 2);
    assert_region(json_object_get(json_array_get(replacements, 0), "deletedRegion"), 1, 5, 1, 9);
    assert_region(json_object_get(json_array_get(replacements, 1), "deletedRegion"), 1, 12, 1, 12);
    const json_t *inserted = json_object_get(json_array_get(replacements, 0), "insertedContent");
    assert_string_equal(json_string_value(json_object_get(inserted, "text")), "relu");

    result = result_of(log, 1);
    assert_string_equal(json_string_value(json_object_get(result, "level")), "warning");
    assert_region(place(json_array_get(json_object_get(result, "locations"), 0)), 2, 12, 3, 1);

    result = result_of(log, 2);
    assert_null(json_object_get(result, "locations"));
    assert_string_equal(json_string_value(json_object_get(result, "ruleId")), "environment");
    assert_string_equal(json_string_value(json_object_get(json_object_get(result, "message"), "text")),
                        "cannot read '\xef\xbf\xbd'");
    json_decref(log);
}

/* All of them, unless the command line says how many. */
static void test_sarif_limit(void **state)
{
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        options = (struct diag_options){.limited = limited, .limit = 3};
        diags = diags_new(arena, &source, &options);
        for (int i = 0; i < 30; i++)
            diag_error(diags, DIAG_SYNTAX, span_of("x"), "%d", i);
        json_t *log = document();
        assert_int_equal(json_array_size(json_object_get(run_of(log), "results")), limited ? 3 : 30);
        json_decref(log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fixes, begin, end),
        cmocka_unit_test_setup_teardown(test_suppressed, begin, end),
        cmocka_unit_test_setup_teardown(test_sites, begin, end),
        cmocka_unit_test_setup_teardown(test_warnings, begin, end),
        cmocka_unit_test_setup_teardown(test_sarif, begin, end),
        cmocka_unit_test_setup_teardown(test_sarif_limit, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
