#include "nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "quote.h"

enum { LONGEST = 128 };             /* bytes of the names that are compared letter by letter */

struct nearest nearest_to(const char *name)
{
    return (struct nearest){.name = name};
}

static bool is_same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Letters to insert, delete, replace, or swap with the next, whatever their case; three rows of the usual table. */
static int edit_distance(const char *a, int a_length, const char *b, int length)
{
    int rows[3][LONGEST + 1];
    for (int j = 0; j <= length; j++)
        rows[0][j] = j;
    for (int i = 1; i <= a_length; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= length; j++) {
            row[j] = smaller(above[j - 1] + !is_same_letter(a[i - 1], b[j - 1]), 1 + smaller(above[j], row[j - 1]));
            if (i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) && is_same_letter(a[i - 2], b[j - 1]))
                row[j] = smaller(row[j], higher[j - 2] + 1);
        }
    }
    return rows[a_length % 3][length];
}

static bool ends_with_part(const char *name, const char *part)
{
    size_t length = strlen(name), tail = strlen(part);
    return tail && tail < length && name[length - tail - 1] == '.' && !strcmp(name + length - tail, part);
}

/* The length without a last part that both have: that "bn.weight" ends like "fc.weight" says nothing. */
static int telling_length(const char *name, const char *other)
{
    const char *part = strrchr(name, '.'), *other_part = strrchr(other, '.');
    bool shared = part && other_part && !strcmp(part, other_part);
    return (int)(shared ? (size_t)(part - name) : strlen(name));
}

/* -1: not near. A name that only lacks or has a prefix ("model.fc.weight") is nearest of all. */
static int distance_between(const char *name, const char *candidate)
{
    if (ends_with_part(name, candidate) || ends_with_part(candidate, name))
        return 0;
    const int length = telling_length(name, candidate), other = telling_length(candidate, name);
    const int most = length < 6 ? 1 + length / 3 : length / 3;
    if (length > LONGEST || other > LONGEST || abs(length - other) > most)
        return -1;
    int distance = edit_distance(name, length, candidate, other);
    return distance <= most ? distance : -1;
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
    int distance = distance_between(nearest->name, candidate);
    int place = nearest->count;
    if (distance < 0)
        return;
    while (place > 0 && nearest->distance[place - 1] > distance)
        place--;
    if (place == NEAREST_MOST)
        return;
    if (nearest->count < NEAREST_MOST)
        nearest->count++;
    for (int i = nearest->count - 1; i > place; i--) {
        nearest->found[i] = nearest->found[i - 1];
        nearest->distance[i] = nearest->distance[i - 1];
    }
    nearest->found[place] = candidate;
    nearest->distance[place] = distance;
}

const char *nearest_text(struct arena *arena, const struct nearest *nearest)
{
    const char *text = "";
    for (int i = 0; i < nearest->count && nearest->distance[i] == nearest->distance[0]; i++)
        text = arena_format(arena, "%s%s%s", text, i ? ", " : "; did you mean ", quote(arena, nearest->found[i]));
    return nearest->count ? arena_format(arena, "%s?", text) : text;
}

const char *nearest_only(const struct nearest *nearest)
{
    if (!nearest->count || (nearest->count > 1 && nearest->distance[0] == nearest->distance[1]))
        return NULL;
    return nearest->found[0];
}
