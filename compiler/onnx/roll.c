/* Statements as assignments. A network of equal layers is written as one: where some statements, then as many more, and
 * so on, differ in nothing but a number that counts up in their tensors' names, and where each such turn reads values
 * of itself, of the turn before, or of before them all, they become a repeat. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"
#include "statement.h"

enum { LONGEST_TURN = 24, FEWEST_TURNS = 3, MOST_WORK = 10000000 };

struct roll {
    size_t begin, length, turns;    /* statements of a turn, turns */
    bool counts;                    /* a number in the names counts: from first, by step */
    int64_t first, step;
};

struct printer {
    struct page *page;
    const statement_list *list;
    struct names *names;
};

/* ---- the number in a name ---- */

/* A name split at a number: "layers.", 3, ".up". */
struct split {
    size_t begin, end;
    int64_t number;
};

static bool next_number(const char *text, size_t from, struct split *split)
{
    while (text[from] && !isdigit((unsigned char)text[from]))
        from++;
    if (!text[from])
        return false;
    char *end;
    split->begin = from;
    split->number = strtoll(text + from, &end, 10);
    split->end = (size_t)(end - text);
    return split->end - split->begin < 10 && (text[from] != '0' || split->end == split->begin + 1);
}

/* Whether two names differ in one number alone, which it is in the first and by how much it is more in the other. */
static bool differ_in_number(const char *a, const char *b, struct split *in_a, int64_t *more)
{
    struct split in_b;
    size_t at = 0;
    while (next_number(a, at, in_a)) {
        if (next_number(b, in_a->begin, &in_b) && in_b.begin == in_a->begin && !strncmp(a, b, in_a->begin) &&
            !strcmp(a + in_a->end, b + in_b.end)) {
            *more = in_b.number - in_a->number;
            return true;
        }
        at = in_a->end;
    }
    return false;
}

/* ---- what is one turn after another ---- */

/* The place of a value's statement, or -1 for one without: an input. */
static int64_t place_of(const struct term *term)
{
    return (int64_t)term->place - 1;
}

/* A name of the first two turns beside that of another turn: the same in all, or counted up from turn to turn. */
static bool fits_name(struct roll *roll, const char *first, const char *second, const char *other, size_t turn)
{
    struct split split;
    int64_t more;
    char number[24];
    if (!strcmp(first, second))
        return !strcmp(first, other);
    if (!differ_in_number(first, second, &split, &more) || more <= 0)
        return false;
    if (!roll->counts)
        *roll = (struct roll){roll->begin, roll->length, roll->turns, true, split.number, more};
    if (roll->first != split.number || roll->step != more)
        return false;
    int digits = snprintf(number, sizeof number, "%" PRId64, split.number + more * (int64_t)turn);
    return !strncmp(other, first, split.begin) && !strncmp(other + split.begin, number, (size_t)digits) &&
           !strcmp(other + split.begin + digits, first + split.end);
}

/* A value that the first turn reads beside that of another turn. */
static bool fits_value(const struct roll *roll, const struct term *first, const struct term *other, size_t offset,
                       size_t turn)
{
    int64_t begin = (int64_t)roll->begin, length = (int64_t)roll->length, move = length * (int64_t)turn;
    int64_t a = place_of(first), b = place_of(other), own = begin + (int64_t)offset;
    if (first == other)
        return a < begin;                               /* from before them all */
    if (a >= begin)
        return b == a + move && a < own;                /* of the turn itself */
    int64_t before = b - (move - length);               /* where it would be in the first turn, if of the turn before */
    return before >= own && before < begin + length;
}

static bool fits_statement(struct roll *roll, const statement_list *list, size_t offset, size_t turn)
{
    const struct statement *first = list->at[roll->begin + offset];
    const struct statement *second = list->at[roll->begin + roll->length + offset];
    const struct statement *other = list->at[roll->begin + turn * roll->length + offset];
    if (first->tokens.count != other->tokens.count || other->term->name)
        return false;
    for (size_t i = 0; i < first->tokens.count; i++) {
        const struct token *a = &first->tokens.at[i], *b = &other->tokens.at[i];
        bool good = a->kind == b->kind;
        if (good && a->kind == TOKEN_TEXT)
            good = !strcmp(a->text, b->text);
        else if (good && a->kind == TOKEN_STRING)
            good = fits_name(roll, a->text, second->tokens.at[i].text, b->text, turn);
        else if (good)
            good = fits_value(roll, a->value, b->value, offset, turn);
        if (!good)
            return false;
    }
    return true;
}

static bool fits_turn(struct roll *roll, const statement_list *list, size_t turn)
{
    for (size_t offset = 0; offset < roll->length; offset++) {
        if (!fits_statement(roll, list, offset, turn))
            return false;
    }
    return true;
}

/* ---- values from turn to turn ---- */

/* The value that the first turn reads where later turns read what statement `offset` gave in the turn before; NULL
 * where none is read. False where there are two. */
static bool carried_in(const struct roll *roll, const statement_list *list, size_t offset, struct term **in)
{
    *in = NULL;
    const struct term *given = list->at[roll->begin + offset]->term;
    for (size_t i = 0; i < roll->length; i++) {
        const struct statement *first = list->at[roll->begin + i], *second = list->at[roll->begin + roll->length + i];
        for (size_t j = 0; j < first->tokens.count; j++) {
            if (second->tokens.at[j].kind != TOKEN_VALUE || second->tokens.at[j].value != given)
                continue;
            if (*in && *in != first->tokens.at[j].value)
                return false;
            *in = first->tokens.at[j].value;
        }
    }
    return true;
}

/* Every turn reads what the one before gave, at the same places: the same statement's as in the second turn. */
static bool same_carries(const struct roll *roll, const statement_list *list)
{
    for (size_t turn = 2; turn < roll->turns; turn++) {
        for (size_t i = 0; i < roll->length; i++) {
            const struct statement *second = list->at[roll->begin + roll->length + i];
            const struct statement *other = list->at[roll->begin + turn * roll->length + i];
            for (size_t j = 0; j < second->tokens.count; j++) {
                const struct term *a = second->tokens.at[j].value, *b = other->tokens.at[j].value;
                if (a && a != b && place_of(b) - place_of(a) != (int64_t)((turn - 1) * roll->length))
                    return false;
            }
        }
    }
    return true;
}

/* Counts in every value that rolled statements read how often they do, from a turn on. */
static void count_reads(const struct roll *roll, const statement_list *list, size_t turn)
{
    for (int add = 0; add <= 1; add++) {
        for (size_t i = turn * roll->length; i < roll->length * roll->turns; i++) {
            const struct statement *statement = list->at[roll->begin + i];
            for (size_t j = 0; j < statement->tokens.count; j++) {
                struct term *value = statement->tokens.at[j].value;
                if (value)
                    value->reads = add ? value->reads + 1 : 0;
            }
        }
    }
}

/* Only what the last turn gave is read behind it. */
static bool is_closed(const struct roll *roll, const statement_list *list)
{
    struct term *in;
    for (size_t i = 0; i < roll->length * roll->turns; i++)
        list->at[roll->begin + i]->term->reads = 0;
    count_reads(roll, list, 0);
    for (size_t i = 0; i < roll->length * (roll->turns - 1); i++) {
        const struct term *term = list->at[roll->begin + i]->term;
        if (term->reads != term->uses)
            return false;
    }
    for (size_t i = 0; i < roll->length; i++) {
        if (!carried_in(roll, list, i, &in))
            return false;
    }
    return same_carries(roll, list);
}

/* The longest roll that begins at a statement; false where there is none. *work bounds the search. */
static bool find_roll(const statement_list *list, size_t begin, struct roll *best, int64_t *work)
{
    *best = (struct roll){0};
    for (size_t length = 1; length <= LONGEST_TURN && begin + FEWEST_TURNS * length <= list->count; length++) {
        struct roll roll = {.begin = begin, .length = length, .turns = 1};
        bool named = false;
        for (size_t i = 0; i < length; i++)
            named |= list->at[begin + i]->term->name != NULL;
        while (!named && *work > 0 && begin + (roll.turns + 1) * length <= list->count &&
               fits_turn(&roll, list, roll.turns)) {
            roll.turns++;
            *work -= (int64_t)length;
        }
        bool closed = roll.turns >= FEWEST_TURNS && is_closed(&roll, list);
        if (!closed && roll.turns > FEWEST_TURNS) {     /* the last turn may be needed apart */
            roll.turns--;
            closed = is_closed(&roll, list);
        }
        if (closed && roll.counts && roll.turns * length > best->turns * best->length)
            *best = roll;
    }
    return best->turns;
}

/* ---- writing ---- */

static void print_assignment(struct printer *p, const char *name, const char *text)
{
    page_line(p->page, arena_format(p->page->arena, "%s = %s;", name, text));
}

static void print_statement(struct printer *p, struct statement *statement)
{
    const char *text = statement_text(p->page->arena, statement, NULL);
    if (!statement->term->name)
        statement->term->name = name_value(p->names, p->page->arena, statement->term->hint);
    print_assignment(p, statement->term->name, text);
}

/* Whether a value that comes in is read by the first turn alone, so that the repeat may take its name over. */
static bool is_own(const struct roll *roll, const statement_list *list, struct term *in)
{
    if (in->shared_name || place_of(in) < 0)
        return false;
    in->reads = 0;
    count_reads(roll, list, 0);
    if (in->reads != in->uses)
        return false;
    in->reads = 0;
    count_reads(roll, list, 1);
    return !in->reads;
}

/* A value that goes from turn to turn has one name, also as it comes in: that of an assignment in front where it has
 * another already and is read elsewhere. */
static void name_carried(struct printer *p, const struct roll *roll, size_t offset)
{
    const statement_list *list = p->list;
    struct term *term = list->at[roll->begin + offset]->term, *in;
    carried_in(roll, list, offset, &in);
    if (in && is_own(roll, list, in)) {
        in->shared_name = true;
        term->name = in->name;
        return;
    }
    term->name = name_value(p->names, p->page->arena, term->hint);
    if (in)
        print_assignment(p, term->name, in->name);
}

/* The number that the names of a turn hold, as the loop has it. */
static const char *counter(struct printer *p, const struct roll *roll)
{
    struct arena *arena = p->page->arena;
    const char *i = name_value(p->names, arena, "i");
    int64_t begin = roll->step == 1 ? roll->first : 0;
    page_line(p->page, arena_format(arena, "repeat %s in %" PRId64 "..%" PRId64 " {", i, begin,
                                    begin + (int64_t)roll->turns));
    if (roll->step == 1)
        return i;
    const char *n = name_value(p->names, arena, "n");
    const char *plus = roll->first ? arena_format(arena, " + %" PRId64, roll->first) : "";
    print_assignment(p, n, arena_format(arena, "%" PRId64 " * %s%s", roll->step, i, plus));
    return n;
}

static void print_roll(struct printer *p, const struct roll *roll)
{
    const statement_list *list = p->list;
    for (size_t i = 0; i < roll->length; i++)
        name_carried(p, roll, i);
    const char *number = counter(p, roll);
    for (size_t i = 0; i < roll->length; i++) {
        struct statement *first = list->at[roll->begin + i], copy = *first;
        copy.tokens.at = arena_grow(p->page->arena, first->tokens.at, first->tokens.count, first->tokens.count,
                                    sizeof *first->tokens.at);
        for (size_t j = 0; j < copy.tokens.count; j++) {
            const struct token *second = &list->at[roll->begin + roll->length + i]->tokens.at[j];
            struct split split;
            int64_t more;
            struct token *token = &copy.tokens.at[j];
            if (token->kind == TOKEN_STRING && strcmp(token->text, second->text) &&
                differ_in_number(token->text, second->text, &split, &more)) {
                token->begin = split.begin;
                token->end = split.end;
            }
            if (token->kind == TOKEN_VALUE && place_of(second->value) >= (int64_t)roll->begin &&
                place_of(second->value) < (int64_t)(roll->begin + roll->length))
                token->value = second->value;           /* of the turn before */
        }
        print_assignment(p, first->term->name, statement_text(p->page->arena, &copy, number));
    }
    page_line(p->page, "}");
    for (size_t i = roll->length; i < roll->length * roll->turns; i++)
        list->at[roll->begin + i]->term->name = list->at[roll->begin + i % roll->length]->term->name;
}

void statements_print(struct page *page, const statement_list *list, struct names *names)
{
    struct printer p = {.page = page, .list = list, .names = names};
    int64_t work = MOST_WORK;
    struct roll roll;
    for (size_t i = 0; i < list->count; i++)
        list->at[i]->term->place = (int64_t)i + 1;
    for (size_t i = 0; i < list->count;) {
        bool rolled = find_roll(list, i, &roll, &work);
        if (rolled)
            print_roll(&p, &roll);
        else if (!list->at[i]->deferred)
            print_statement(&p, list->at[i]);
        i += rolled ? roll.length * roll.turns : 1;
    }
    page_add(page, "\n");
}
