/* JSON objects, member by member. The parser builds a tree of what it reads, which takes many times the memory of the
 * text. It is given a name and a value at a time here, none without a limit to its length, so that a large text of many
 * small values takes the memory of the largest. An object that has a name twice is an error, as all else that is no
 * JSON: of several errors the first in the text is said. */
#ifndef MLPC_JSON_MEMBERS_H
#define MLPC_JSON_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

/* Bytes that a name may have, and a value unless it must be longer. */
enum { JSON_PART_MAX = 65536 };

/* What is read, and how far; without NUL bytes. */
struct json_text {
    struct arena *arena;            /* for messages */
    const char *bytes;
    size_t length, at;
    const char *message;            /* NULL, or what is wrong; then nothing more is read */
};

struct json_members {
    struct json_text *text;
    json_t *name;                   /* the last one */
    const char **names;             /* all of them, as they stand in the text */
    size_t count, capacity;
};

/* The text is at the '{' of an object. */
void json_members_begin(struct json_members *members, struct json_text *text);
/* The name of the next member, good until the next call; its value must be read before that. NULL behind the last one,
 * and after an error; all is given back then. */
const char *json_members_next(struct json_members *members);
/* The first byte of the value; NUL at the end of the text. */
char json_members_value_begins(const struct json_members *members);
/* The value, for json_decref. NULL: text->message says why. `most` is the number of bytes that it may have. */
json_t *json_members_value(struct json_members *members, size_t most);
/* Nothing but blanks may follow. */
void json_text_end(struct json_text *text);

#endif
