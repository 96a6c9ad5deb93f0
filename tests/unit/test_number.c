/* Numbers while compiling: exact integers, finite doubles, and their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "number.h"
#include "utf8.h"

static struct number integer(int64_t value)
{
    return (struct number){.integer = value};
}

static struct number real(double value)
{
    return (struct number){.real = true, .value = value};
}

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        int64_t a;
        char op;
        int64_t b;
        enum number_result outcome;
        int64_t result;
    } rows[] = {
        {2, '+', 3, NUMBER_OK, 5},
        {INT64_MAX, '+', 1, NUMBER_OVERFLOWS, 0},
        {9007199254740993, '-', 9007199254740992, NUMBER_OK, 1},        /* 2^53 + 1: no double */
        {INT64_MIN, '-', 1, NUMBER_OVERFLOWS, 0},
        {INT64_C(1) << 32, '*', INT64_C(1) << 30, NUMBER_OK, INT64_C(1) << 62},
        {INT64_C(1) << 32, '*', INT64_C(1) << 31, NUMBER_OVERFLOWS, 0},
        {-6, '/', 3, NUMBER_OK, -2},
        {7, '/', 2, NUMBER_DIVIDES_INEXACTLY, 0},
        {0, '/', 5, NUMBER_OK, 0},
        {1, '/', 0, NUMBER_DIVIDES_BY_ZERO, 0},
        {7, '/', -1, NUMBER_OK, -7},
        {INT64_MIN, '/', -1, NUMBER_OVERFLOWS, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct number result;
        enum number_result outcome = number_apply(rows[i].op, integer(rows[i].a), integer(rows[i].b), &result);
        assert_int_equal(outcome, rows[i].outcome);
        if (outcome == NUMBER_OK) {
            assert_false(result.real);
            assert_true(result.integer == rows[i].result);
        }
    }
}

static void test_doubles(void **state)
{
    (void)state;
    struct number result;
    assert_int_equal(number_apply('/', integer(7), real(2), &result), NUMBER_OK);
    assert_true(result.real && result.value == 3.5);
    assert_int_equal(number_apply('*', real(1e308), integer(10), &result), NUMBER_OVERFLOWS);
    assert_int_equal(number_apply('/', real(1), real(-0.0), &result), NUMBER_DIVIDES_BY_ZERO);
    assert_int_equal(number_apply('/', integer(1), real(0), &result), NUMBER_DIVIDES_BY_ZERO);
}

static void test_negation(void **state)
{
    (void)state;
    struct number result;
    assert_int_equal(number_negate(integer(INT64_MAX), &result), NUMBER_OK);
    assert_true(result.integer == -INT64_MAX);
    assert_int_equal(number_negate(integer(INT64_MIN), &result), NUMBER_OVERFLOWS);
    assert_int_equal(number_negate(real(0.5), &result), NUMBER_OK);
    assert_true(result.value == -0.5);
}

static void test_whole(void **state)
{
    (void)state;
    int64_t whole = 0;
    assert_true(number_whole(real(-4), &whole) && whole == -4);
    assert_true(number_whole(integer(INT64_MIN), &whole) && whole == INT64_MIN);
    assert_false(number_whole(real(2.5), &whole));
    assert_false(number_whole(real(0x1p63), &whole));
    assert_true(number_whole(real(0x1p62), &whole) && whole == INT64_C(1) << 62);
}

static void test_text(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0.1, "0.1"}, {2, "2"}, {-0.5, "-0.5"}, {1e-5, "1e-5"}, {0.0001, "0.0001"}, {1e22, "1e22"}, {1000, "1000"},
        {100000, "100000"}, {1.0 / 3, "0.3333333333333333"}, {0.1 + 0.2, "0.30000000000000004"}, {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e308"}, {1.25e-7, "1.25e-7"},
        {9007199254740993.0, "9007199254740992"},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(number_text(arena, real(rows[i].value)), rows[i].text);
        assert_true(strtod(rows[i].text, NULL) == rows[i].value);
    }
    assert_string_equal(number_text(arena, integer(INT64_MIN)), "-9223372036854775808");
    arena_free(arena);
}

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t used;
        uint32_t character;
    } rows[] = {
        {"a", 1, 'a'}, {"\xc3\xa9", 2, 0xe9}, {"\xe9\x87\x8d", 3, 0x91cd}, {"\xf0\x9f\x98\x80", 4, 0x1f600},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff}, {"\xc2\x80", 2, 0x80}, {"\xe0\xa0\x80", 3, 0x800},
        {"\x80", 0, 0}, {"\xc3", 0, 0}, {"\xc3g", 0, 0}, {"\xc0\x80", 0, 0}, {"\xc1\xbf", 0, 0},
        {"\xe0\x9f\xbf", 0, 0}, {"\xf0\x8f\xbf\xbf", 0, 0}, {"\xed\xa0\x80", 0, 0}, {"\xed\xbf\xbf", 0, 0},
        {"\xf4\x90\x80\x80", 0, 0}, {"\xf8\x88\x80\x80\x80", 0, 0}, {"\xff", 0, 0}, {"\xe9\x87", 0, 0}, {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t character = 0;
        assert_int_equal(utf8_decode(rows[i].text, strlen(rows[i].text), &character), rows[i].used);
        assert_int_equal(character, rows[i].character);
    }
    assert_int_equal(utf8_cells('a'), 1);
    assert_int_equal(utf8_cells(0x91cd), 2);
    assert_int_equal(utf8_cells(0x301), 0);
    assert_int_equal(utf8_cells(0x1b), -1);
    assert_int_equal(utf8_cells(0x202e), -1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers), cmocka_unit_test(test_doubles), cmocka_unit_test(test_negation),
        cmocka_unit_test(test_whole),    cmocka_unit_test(test_text),    cmocka_unit_test(test_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
