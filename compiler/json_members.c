/* The parser says how far it has read, so that it can be given any place of the text, and the limit as its end. Names
 * are remembered by their places alone; whether one stands twice is found at the end of the object, or at the first
 * error in it, by sorting them. */
#include "json_members.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "quote.h"
#include "utf8.h"

enum { CHARACTER_MAX_BYTES = 4 };
enum { SHOWN_MAX = 20 };            /* as in the parser's own messages */
enum { PARSE_ONE = JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL };

#define FAIL(text, ...) ((void)((text)->message = arena_format((text)->arena, __VA_ARGS__)))

static char here(const struct json_text *text)
{
    if (text->at < text->length)
        return text->bytes[text->at];
    return '\0';
}

static void skip_blanks(struct json_text *text)
{
    while (here(text) == ' ' || here(text) == '\t' || here(text) == '\n' || here(text) == '\r')
        text->at++;
}

static void fail_syntax(struct json_text *text, const char *what, size_t position)
{
    FAIL(text, "its header is not good JSON: %s (byte %zu)", what, position);
}

/* `what`, and the bytes from `begin` up to text->at, where they are few. */
static void fail_near(struct json_text *text, const char *what, size_t begin)
{
    const int length = (int)(text->at - begin);
    if (length <= SHOWN_MAX)
        what = arena_format(text->arena, "%s near '%.*s'", what, length, text->bytes + begin);
    fail_syntax(text, what, text->at);
}

/* Passes over a token as the parser does; false after the parser's own message. A word without a meaning is a token,
 * what begins as a string and is none is not. */
static bool skip_token(struct json_text *text)
{
    json_error_t error;
    if (strchr("{}[]:,", here(text))) {
        text->at++;
        return true;
    }
    json_t *token = json_loadb(text->bytes + text->at, text->length - text->at, PARSE_ONE, &error);
    const bool lexed = token || (here(text) != '"' && json_error_code(&error) == json_error_invalid_syntax);
    json_decref(token);
    text->at += (size_t)error.position;
    if (!lexed)
        fail_syntax(text, error.text, text->at);
    return lexed;
}

static void fail_expected(struct json_text *text, const char *what)
{
    const size_t begin = text->at;
    what = arena_format(text->arena, "%s expected", what);
    if (begin == text->length)
        fail_syntax(text, arena_format(text->arena, "%s near end of file", what), begin);
    else if (skip_token(text))
        fail_near(text, what, begin);
}

static bool expect(struct json_text *text, char byte, const char *what)
{
    skip_blanks(text);
    if (here(text) != byte) {
        fail_expected(text, what);
        return false;
    }
    text->at++;
    return true;
}

/* `name` stands in the text and is good. */
static void fail_twice(struct json_text *text, const char *name)
{
    const size_t left = (size_t)(text->bytes + text->length - name);
    json_t *decoded = json_loadb(name, left, PARSE_ONE, NULL);
    FAIL(text, "%s stands twice in its header", quote(text->arena, json_string_value(decoded)));
    json_decref(decoded);
}

static bool is_escaped(const char *bytes, size_t at)
{
    size_t backslashes = 0;
    while (backslashes < at && bytes[at - 1 - backslashes] == '\\')
        backslashes++;
    return backslashes % 2;
}

/* The parser stops right behind the name that stands twice, and tells it only where it is short. */
static void fail_parse(struct json_text *text, const json_error_t *error)
{
    const size_t end = text->at + (size_t)error->position;
    if (json_error_code(error) != json_error_duplicate_key) {
        fail_syntax(text, error->text, end);
        return;
    }
    size_t begin = end - 2;         /* from the closing quote back to the opening one */
    while (text->bytes[begin] != '"' || is_escaped(text->bytes, begin))
        begin--;
    fail_twice(text, text->bytes + begin);
}

static void fail_length(struct json_text *text, size_t most, const char *name)
{
    if (name)
        FAIL(text, "what its header says of %s has more than %zu bytes", quote(text->arena, name), most);
    else
        FAIL(text, "a name in its header has more than %zu bytes", most);
}

/* The value of `name`, or a name itself. What the parser is given beyond the limit holds any character that the limit
 * cuts, so that it reads beyond the limit exactly where the value goes beyond it. */
static json_t *parse(struct json_text *text, size_t most, const char *name)
{
    const size_t left = text->length - text->at;
    const size_t given = left > most && left - most > CHARACTER_MAX_BYTES ? most + CHARACTER_MAX_BYTES : left;
    json_error_t error;
    json_t *value = json_loadb(text->bytes + text->at, given, PARSE_ONE, &error);
    if ((size_t)error.position > most) {
        json_decref(value);
        fail_length(text, most, name);
        return NULL;
    }
    if (value)
        text->at += (size_t)error.position;
    else
        fail_parse(text, &error);
    return value;
}

/* ---- Names that stand twice ---- */

static uint32_t next_unit(const char **at)
{
    uint32_t unit = 0;
    for (const char *end = *at + 4; *at < end; ++*at) {
        const char digit = **at;
        unit = 16 * unit + (uint32_t)(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return unit;
}

/* Of a name that is known to be good. */
static uint32_t next_character(const char **at)
{
    uint32_t character = (unsigned char)**at;
    if (character >= 0x80) {
        *at += utf8_decode(*at, CHARACTER_MAX_BYTES, &character);
        return character;
    }
    ++*at;
    if (character != '\\')
        return character;
    switch (*(*at)++) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'u':
        break;
    default:
        return (unsigned char)(*at)[-1];
    }
    character = next_unit(at);
    if (character < 0xd800 || character > 0xdfff)
        return character;
    *at += 2;                       /* the \u of the second half */
    return 0x10000 + ((character - 0xd800) << 10) + (next_unit(at) - 0xdc00);
}

/* Both begin at their opening quotes. */
static int compare_names(const char *first, const char *second)
{
    for (first++, second++; *first != '"' && *second != '"';) {
        const uint32_t a = next_character(&first), b = next_character(&second);
        if (a != b)
            return a < b ? -1 : 1;
    }
    return (*first != '"') - (*second != '"');
}

/* Equal ones in the order of the text. */
static int by_name(const void *a, const void *b)
{
    const char *first = *(const char *const *)a, *second = *(const char *const *)b;
    const int order = compare_names(first, second);
    return order ? order : (first > second) - (first < second);
}

static const char *find_twice(const struct json_members *members)
{
    const char *twice = NULL;
    if (members->count)
        qsort(members->names, members->count, sizeof *members->names, by_name);
    for (size_t i = 1; i < members->count; i++) {
        const char *name = members->names[i];
        if ((!twice || name < twice) && !compare_names(members->names[i - 1], name))
            twice = name;
    }
    return twice;
}

/* ---- Members ---- */

static void remember_name(struct json_members *members, const char *name)
{
    if (members->count == members->capacity) {
        members->capacity = members->capacity ? 2 * members->capacity : 64;
        members->names = sure_realloc(members->names, members->capacity * sizeof *members->names);
    }
    members->names[members->count++] = name;
}

/* A name that stands twice is in front of any other error. */
static void end_members(struct json_members *members)
{
    const char *twice = find_twice(members);
    if (twice)
        fail_twice(members->text, twice);
    free(members->names);
    members->names = NULL;
    members->count = members->capacity = 0;
}

void json_members_begin(struct json_members *members, struct json_text *text)
{
    text->at++;
    *members = (struct json_members){.text = text};
}

static bool read_name(struct json_members *members)
{
    struct json_text *text = members->text;
    const char *name = text->bytes + text->at;
    if (here(text) != '"') {
        fail_expected(text, "string or '}'");
        return false;
    }
    members->name = parse(text, JSON_PART_MAX, NULL);
    if (!members->name)
        return false;
    if (memchr(json_string_value(members->name), '\0', json_string_length(members->name))) {
        fail_near(text, "NUL byte in object key not supported", (size_t)(name - text->bytes));
        return false;
    }
    remember_name(members, name);
    if (!expect(text, ':', "':'"))
        return false;
    skip_blanks(text);
    return true;
}

/* Whether there is another member; the text is at its name then. */
static bool go_on(struct json_members *members)
{
    struct json_text *text = members->text;
    if (text->message)
        return false;
    skip_blanks(text);
    if (here(text) == '}') {
        text->at++;
        return false;
    }
    if (members->count && here(text) != ',') {
        fail_expected(text, "'}'");
        return false;
    }
    if (members->count)
        text->at++;
    skip_blanks(text);
    return true;
}

const char *json_members_next(struct json_members *members)
{
    json_decref(members->name);
    members->name = NULL;
    if (go_on(members) && read_name(members))
        return json_string_value(members->name);
    json_decref(members->name);
    members->name = NULL;
    end_members(members);
    return NULL;
}

char json_members_value_begins(const struct json_members *members)
{
    return here(members->text);
}

json_t *json_members_value(struct json_members *members, size_t most)
{
    return parse(members->text, most, json_string_value(members->name));
}

void json_text_end(struct json_text *text)
{
    if (text->message)
        return;
    skip_blanks(text);
    if (text->at < text->length)
        fail_expected(text, "end of file");
}
