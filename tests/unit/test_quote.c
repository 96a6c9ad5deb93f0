/* Names in messages: quoted on one line, and the nearest of many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nearest.h"
#include "quote.h"

static void test_quote(void **state)
{
    (void)state;
    static const struct {
        const char *text, *quoted;
    } names[] = {
        {"fc.weight", "'fc.weight'"}, {"", "''"},           {"a b%s\"'\\", "'a b%s\"'\\'"},
        {"tab\tnew\nline", "'tab\\tnew\\nline'"},           {"\x1b[0m\x7f\r", "'\\x1b[0m\\x7f\\x0d'"},
        {"权重é", "'权重é'"},              {"\xc2\x9b\xe2\x80\xae", "'\\xc2\\x9b\\xe2\\x80\\xae'"},
        {"\xff\xc3", "'\\xff\\xc3'"},     {"\xef\xbf\xbe", "'\\xef\\xbf\\xbe'"},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(quote(arena, names[i].text), names[i].quoted);
    arena_free(arena);
}

/* A long name keeps its ends, and is never cut inside a character. */
static void test_quote_shortens(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (int lead = 0; lead < 3; lead++) {
        char text[512] = "ab";
        text[lead] = 0;
        for (int i = 0; i < 100; i++)
            strcat(text, "重");
        const char *quoted = quote(arena, text);
        assert_true(strlen(quoted) <= 122);
        assert_non_null(strstr(quoted, "..."));
        assert_memory_equal(quoted + 1, text, (size_t)lead);
        size_t bytes = strlen(quoted) - 2 - (size_t)lead - 3;
        assert_int_equal(bytes % 3, 0);
        assert_int_equal(strstr(quoted, "...") - quoted - 1 - lead, bytes - 39);
    }
    arena_free(arena);
}

static const char *near(struct arena *arena, const char *name)
{
    static const char *const names[] = {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias", "model.head", "norm",
                                        "fc3.weight", "fc4.weight"};
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        nearest_offer(&nearest, names[i]);
    return nearest_text(arena, &nearest);
}

static void test_nearest(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_string_equal(near(arena, "nrom"), "; did you mean 'norm'?");
    assert_string_equal(near(arena, "head"), "; did you mean 'model.head'?");
    assert_string_equal(near(arena, "net.norm"), "; did you mean 'norm'?");
    assert_string_equal(near(arena, "fc2.weihgt"), "; did you mean 'fc2.weight'?");
    assert_string_equal(near(arena, "fc9.weight"), "; did you mean 'fc1.weight', 'fc2.weight', 'fc3.weight'?");
    assert_string_equal(near(arena, "embedding"), "");
    assert_string_equal(near(arena, ""), "");
    arena_free(arena);
}

static void test_nearest_long_names(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    char name[301], other[302];
    memset(name, 'n', 300);
    memset(other, 'n', 301);
    name[300] = other[301] = 0;
    struct nearest nearest = nearest_to(name);
    nearest_offer(&nearest, other);
    assert_string_equal(nearest_text(arena, &nearest), "");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quote),
        cmocka_unit_test(test_quote_shortens),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_nearest_long_names),
    };
    return cmocka_run_group_tests_name("quote", tests, NULL, NULL);
}
