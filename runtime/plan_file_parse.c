/* Text turned into tuned plans and forms (plan_file_parts.h). Each line is held to its place and to the one spelling it
 * has, so that a file is read as it was written or not at all; the first thing that is wrong is told with its line.
 *
 * The text may hold anything, so that no part of it may cost more time than its length. That holds for the sorting at
 * the end, too: device lines, whose names may be long, are sorted first, and entries by the rank of theirs. */
#include "plan_file_parts.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const device_keys[] = {"multiprocessors", "cublaslt", NULL};

struct span {
    const char *at;
    size_t length;
};

/* A device line. Lines that say the same have the same rank. */
struct section {
    mlp_plan_place place;
    size_t rank;
};

/* An entry, whose device stays with its section. */
struct item {
    const char *words;              /* its product or network */
    size_t line;                    /* of these words */
    size_t section, rank;           /* the device line above it, and its rank */
    union {
        mlp_plan_entry product;
        mlp_form_entry network;
    };
};

/* All entries of one kind. */
struct items {
    struct item *at;
    size_t count, room;
};

/* The first four stand outside of entries, or begin one. */
enum kind { VERSION, DEVICE, NETWORK, PRODUCT, FORM, EPILOGUE, ALGORITHM, WORKSPACE, BYTES, MICROSECONDS, CHECKSUM,
            KINDS };

static const enum kind network_lines[] = {NETWORK, FORM, MICROSECONDS, CHECKSUM};
static const enum kind product_lines[] = {PRODUCT, EPILOGUE, ALGORITHM, WORKSPACE, BYTES, MICROSECONDS, CHECKSUM};

struct parser {
    mlp_plan_error *error;
    const char *rest, *end;         /* behind the line being read */
    size_t line;
    struct span words;              /* of the line, those not yet read */
    int begun;                      /* the version was read */
    mlp_plan_texts *texts;
    char *next_text;
    struct section *sections;
    size_t section_count, section_room;
    struct items products, networks;
    const enum kind *lines;         /* of the entry being read; NULL: outside of entries */
    size_t lines_read;
    struct item item;               /* being read */
    size_t time_count;              /* that a product says */
    uint64_t place_hash;
};

static int wrong(struct parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int wrong(struct parser *parser, const char *format, ...)
{
    va_list arguments;
    parser->error->line = parser->line;
    va_start(arguments, format);
    vsnprintf(parser->error->text, sizeof parser->error->text, format, arguments);
    va_end(arguments);
    return 0;
}

static int out_of_memory(struct parser *parser)
{
    parser->line = 0;
    return wrong(parser, "memory ran out");
}

/* A word as a message may show it: short, and of printable ASCII. */
struct quoted {
    char text[44];
};

static struct quoted quote(struct span word)
{
    struct quoted quoted;
    size_t most = sizeof quoted.text - 4, length = word.length < most ? word.length : most;
    for (size_t i = 0; i < length; i++)
        quoted.text[i] = (char)(word.at[i] >= ' ' && word.at[i] < 127 ? word.at[i] : '?');
    strcpy(quoted.text + length, word.length > most ? "..." : "");
    return quoted;
}

/* ---- Words ---- */

/* Of length 0 at the end of the line. */
static struct span next_word(struct parser *parser)
{
    struct span *words = &parser->words, word = {words->at, 0};
    while (words->length && *words->at == ' ')
        words->at++, words->length--;
    word.at = words->at;
    while (words->length && *words->at != ' ')
        words->at++, words->length--;
    word.length = (size_t)(words->at - word.at);
    return word;
}

static int is_word(struct span word, const char *text)
{
    return word.length == strlen(text) && !memcmp(word.at, text, word.length);
}

static int at_end(const struct parser *parser)
{
    struct parser ahead = *parser;
    return !next_word(&ahead).length;
}

static int end_of_line(struct parser *parser)
{
    struct span word = next_word(parser);
    return !word.length || wrong(parser, "'%s' is more than this line should say", quote(word).text);
}

/* Which of the keys `word` gives a value; all of them are passed where it is none. */
static size_t find_key(const char *const *keys, struct span word)
{
    size_t index = 0;
    for (; keys[index]; index++) {
        size_t length = strlen(keys[index]);
        if (word.length > length && word.at[length] == '=' && !memcmp(word.at, keys[index], length))
            break;
    }
    return index;
}

/* The value of keys[index], for which it is the turn. */
static int attribute(struct parser *parser, const char *const *keys, size_t index, struct span *value)
{
    struct span word = next_word(parser);
    size_t found = find_key(keys, word), key_length = strlen(keys[index]) + 1;
    if (!word.length)
        return wrong(parser, "'%s' is missing", keys[index]);
    if (!keys[found])
        return wrong(parser, "unknown word '%s' in the place of '%s'", quote(word).text, keys[index]);
    if (found < index)
        return wrong(parser, "'%s' is given twice", keys[found]);
    if (found > index)
        return wrong(parser, "'%s' stands in the place of '%s'", keys[found], keys[index]);
    *value = (struct span){word.at + key_length, word.length - key_length};
    return 1;
}

/* Digits without a needless zero before them. */
static int whole_number(struct span text, uint64_t most, uint64_t *value)
{
    if (!text.length || (text.length > 1 && *text.at == '0'))
        return 0;
    *value = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (!mlp_plan_is_digit(text.at[i]) || __builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(text.at[i] - '0'), value))
            return 0;
    }
    return *value <= most;
}

/* A whole number, and three digits behind a dot. */
static int decimal(struct span text, double *value)
{
    uint64_t whole, part = 0;
    if (text.length < 5 || text.at[text.length - 4] != '.' ||
        !whole_number((struct span){text.at, text.length - 4}, MLP_PLAN_MOST_THOUSANDTHS / 1000, &whole))
        return 0;
    for (const char *digit = text.at + text.length - 3; digit < text.at + text.length; digit++) {
        if (!mlp_plan_is_digit(*digit))
            return 0;
        part = part * 10 + (uint64_t)(*digit - '0');
    }
    *value = (double)(whole * 1000 + part) / 1000;
    return 1;
}

/* 16 small hexadecimal digits. */
static int hexadecimal(struct span text, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.at[i];
        if (!mlp_plan_is_digit(c) && !(c >= 'a' && c <= 'f'))
            return 0;
        *value = *value << 4 | (uint64_t)(mlp_plan_is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    return text.length == 16;
}

static int number_attribute(struct parser *parser, const char *const *keys, size_t index, uint64_t most,
                            uint64_t *value)
{
    struct span text;
    if (!attribute(parser, keys, index, &text))
        return 0;
    return whole_number(text, most, value) ||
           wrong(parser, "'%s' is '%s', not a whole number from 0 to %" PRIu64, keys[index], quote(text).text, most);
}

/* ---- Lines ---- */

static int read_version(struct parser *parser)
{
    struct span plans = next_word(parser), version = next_word(parser);
    if (!is_word(plans, "plans") || !version.length)
        return wrong(parser, "this line should be 'mlpc plans 1'");
    return is_word(version, "1") ||
           wrong(parser, "the file is of version '%s', and only version 1 is known", quote(version).text);
}

static const char *keep_text(struct parser *parser, struct span text)
{
    char *kept = parser->next_text;
    memcpy(kept, text.at, text.length);
    kept[text.length] = 0;
    parser->next_text += text.length + 1;
    return kept;
}

static int read_name(struct parser *parser, const char **name)
{
    struct span *words = &parser->words;
    while (words->length && *words->at == ' ')
        words->at++, words->length--;
    const char *quote_mark = words->length > 1 ? memchr(words->at + 1, '"', words->length - 1) : NULL;
    if (!quote_mark || *words->at != '"')
        return wrong(parser, "a device's name should stand here, between '\"', of any characters but '\"' and control "
                             "characters");
    struct span text = {words->at + 1, (size_t)(quote_mark - words->at) - 1};
    words->at += text.length + 2;
    words->length -= text.length + 2;
    if (words->length && *words->at != ' ')
        return wrong(parser, "a space should follow the device's name, which holds no '\"'");
    *name = keep_text(parser, text);
    return 1;
}

/* 13.1.0, of which the last two have at most two digits. */
static int library_version(struct span text, size_t *library)
{
    static const uint64_t most[] = {MLP_PLAN_MOST_MAJOR, 99, 99};
    static const size_t unit[] = {10000, 100, 1};
    *library = 0;
    for (size_t i = 0; i < 3; i++) {
        const char *dot = i < 2 && text.length ? memchr(text.at, '.', text.length) : text.at + text.length;
        uint64_t number;
        if (!dot || !whole_number((struct span){text.at, (size_t)(dot - text.at)}, most[i], &number))
            return 0;
        *library += (size_t)number * unit[i];
        text.length -= (size_t)(dot - text.at) + (i < 2);
        text.at = dot + (i < 2);
    }
    return 1;
}

/* An array with room for one more, or NULL. */
static void *grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    size_t more = *room + *room / 2 + 8;
    void *grown = reallocarray(array, more, size);
    if (grown)
        *room = more;
    return grown;
}

static int add_section(struct parser *parser, mlp_plan_place place)
{
    struct section *sections = grow(parser->sections, parser->section_count, &parser->section_room, sizeof *sections);
    if (!sections)
        return out_of_memory(parser);
    parser->sections = sections;
    sections[parser->section_count++] = (struct section){.place = place};
    return 1;
}

static int read_device(struct parser *parser)
{
    mlp_plan_place place;
    struct span version;
    uint64_t multiprocessors;
    if (!read_name(parser, &place.device) ||
        !number_attribute(parser, device_keys, 0, INT_MAX, &multiprocessors) ||
        !attribute(parser, device_keys, 1, &version))
        return 0;
    if (!library_version(version, &place.library))
        return wrong(parser, "'cublaslt' is '%s', not a version such as 13.1.0", quote(version).text);
    place.multiprocessors = (int)multiprocessors;
    parser->place_hash = mlp_plan_hash_place(place);
    return add_section(parser, place);
}

static int fits_span(struct span word)
{
    for (size_t i = 0; i < word.length; i++)
        if (!mlp_plan_in_word(word.at[i]))
            return 0;
    return 1;
}

/* What `kind` of entry begins, and by which words it is known. */
static int read_head(struct parser *parser, const char *kind)
{
    struct span word = next_word(parser);
    parser->item =
        (struct item){.words = parser->next_text, .line = parser->line, .section = parser->section_count - 1};
    for (; word.length; word = next_word(parser)) {
        if (!fits_span(word))
            return wrong(parser, "'%s' in a %s is not of printable ASCII without '#' and '\"'", quote(word).text, kind);
        keep_text(parser, word);
        parser->next_text[-1] = ' ';
    }
    parser->next_text[-1] = 0;
    return 1;
}

static int read_network(struct parser *parser)
{
    parser->lines = network_lines;
    return at_end(parser) ? wrong(parser, "a network's name and size should stand here")
                          : read_head(parser, "network");
}

static int read_product(struct parser *parser)
{
    parser->lines = product_lines;
    return at_end(parser) ? wrong(parser, "a product's sizes and types should stand here")
                          : read_head(parser, "product");
}

static int read_form(struct parser *parser)
{
    struct span word = next_word(parser);
    size_t form = 0;
    while (form < MLP_FORMS && !is_word(word, mlp_plan_form_keys[form]))
        form++;
    parser->item.network.form = (mlp_form)form;
    return form < MLP_FORMS ||
           wrong(parser, "the form is 'steps', 'rows' or 'few', not '%s'", quote(word).text);
}

static int read_epilogue(struct parser *parser)
{
    struct span word = next_word(parser);
    parser->item.product.apart = is_word(word, "apart");
    return parser->item.product.apart || is_word(word, "fused") ||
           wrong(parser, "the epilogue is 'fused' or 'apart', not '%s'", quote(word).text);
}

static int read_algorithm(struct parser *parser)
{
    uint64_t values[MLP_PLAN_ALGORITHM_KEYS];
    unsigned numbers[MLP_PLAN_ALGORITHM_KEYS];
    for (size_t i = 0; i < MLP_PLAN_ALGORITHM_KEYS; i++) {
        if (!number_attribute(parser, mlp_plan_algorithm_keys, i, i ? UINT_MAX : INT_MAX, &values[i]))
            return 0;
        numbers[i] = (unsigned)values[i];
    }
    parser->item.product.algorithm = (mlp_algorithm){
        .id = (int)numbers[0], .tile = numbers[1], .stages = numbers[2], .split_k = numbers[3],
        .reduction = numbers[4], .swizzle = numbers[5], .custom = numbers[6], .inner_shape = numbers[7],
        .cluster = numbers[8]};
    return 1;
}

static int read_workspace(struct parser *parser)
{
    struct span word = next_word(parser);
    return whole_number(word, UINT64_MAX, &parser->item.product.workspace) ||
           wrong(parser, "the workspace is '%s', not a whole number from 0 to %" PRIu64, quote(word).text, UINT64_MAX);
}

static int read_bytes(struct parser *parser)
{
    for (size_t i = 0; i < MLP_PLAN_WORDS; i++) {
        struct span word = next_word(parser);
        if (!word.length)
            return wrong(parser, "%zu words of 'bytes' are missing", MLP_PLAN_WORDS - i);
        if (!hexadecimal(word, &parser->item.product.bytes[i]))
            return wrong(parser, "'%s' is not 16 digits out of 0-9 and a-f", quote(word).text);
    }
    return 1;
}

static int read_time(struct parser *parser, const char *const *keys, size_t index, double *time)
{
    struct span text;
    if (!attribute(parser, keys, index, &text))
        return 0;
    return decimal(text, time) ||
           wrong(parser, "'%s' is '%s', not microseconds with three decimals, below 1000000000.000", keys[index],
                 quote(text).text);
}

static int read_form_times(struct parser *parser)
{
    for (size_t i = 0; i < MLP_FORMS; i++)
        if (!read_time(parser, mlp_plan_form_keys, i, &parser->item.network.microseconds[i]))
            return 0;
    return 1;
}

static int read_plan_times(struct parser *parser)
{
    mlp_plan_times *times = &parser->item.product.times;
    double *const values[MLP_PLAN_TIME_KEYS] = {&times->warm,       &times->cold,        &times->first_warm,
                                                &times->first_cold, &times->listed_warm, &times->listed_cold};
    size_t count = 0;
    while (count < MLP_PLAN_TIME_KEYS && (count != MLP_PLAN_OLD_TIME_KEYS || !at_end(parser))) {
        if (!read_time(parser, mlp_plan_time_keys, count, values[count]))
            return 0;
        count++;
    }
    parser->time_count = count;
    return 1;
}

static int read_microseconds(struct parser *parser)
{
    return parser->lines == network_lines ? read_form_times(parser) : read_plan_times(parser);
}

static int add_item(struct parser *parser)
{
    struct items *items = parser->lines == network_lines ? &parser->networks : &parser->products;
    struct item *grown = grow(items->at, items->count, &items->room, sizeof *grown);
    if (!grown)
        return out_of_memory(parser);
    items->at = grown;
    items->at[items->count++] = parser->item;
    return 1;
}

static uint64_t hash_item(const struct parser *parser)
{
    const struct item *item = &parser->item;
    int network = parser->lines == network_lines;
    char body[MLP_PLAN_BODY_ROOM];
    size_t length = network ? mlp_plan_form_body(&item->network, body)
                            : mlp_plan_body(&item->product, parser->time_count, body);
    return mlp_plan_hash_entry(parser->place_hash, network ? "network" : "product", item->words, body, length);
}

static int read_checksum(struct parser *parser)
{
    uint64_t said, found;
    struct span word = next_word(parser);
    if (!hexadecimal(word, &said))
        return wrong(parser, "the checksum '%s' is not 16 digits out of 0-9 and a-f", quote(word).text);
    found = hash_item(parser);
    if (said != found)
        return wrong(parser, "the entry's checksum is %016" PRIx64 ", its text gives %016" PRIx64
                             ": damaged, or edited by hand", said, found);
    return add_item(parser);
}

static const struct {
    const char *word;
    int (*read)(struct parser *parser);
} kinds[KINDS] = {
    [VERSION] = {"mlpc", read_version},
    [DEVICE] = {"device", read_device},
    [NETWORK] = {"network", read_network},
    [PRODUCT] = {"product", read_product},
    [FORM] = {"form", read_form},
    [EPILOGUE] = {"epilogue", read_epilogue},
    [ALGORITHM] = {"algorithm", read_algorithm},
    [WORKSPACE] = {"workspace", read_workspace},
    [BYTES] = {"bytes", read_bytes},
    [MICROSECONDS] = {"microseconds", read_microseconds},
    [CHECKSUM] = {"checksum", read_checksum},
};

static int cut_short(struct parser *parser)
{
    return wrong(parser, "the entry of line %zu ends before its '%s'", parser->item.line,
                 kinds[parser->lines[parser->lines_read]].word);
}

/* Whether it is the turn of a line of this kind. */
static int in_entry(struct parser *parser, enum kind kind)
{
    enum kind turn = parser->lines[parser->lines_read];
    if (kind <= PRODUCT)
        return cut_short(parser);
    for (size_t i = 0; i < parser->lines_read; i++)
        if (kind == parser->lines[i])
            return wrong(parser, "'%s' is given twice", kinds[kind].word);
    return kind == turn || wrong(parser, "'%s' stands in the place of '%s'", kinds[kind].word, kinds[turn].word);
}

/* Whether a line of this kind may follow the one before it. */
static int in_place(struct parser *parser, enum kind kind)
{
    if (!parser->begun)
        return kind == VERSION || wrong(parser, "the first line should be 'mlpc plans 1'");
    if (kind == VERSION)
        return wrong(parser, "a second version in the same file");
    if (parser->lines)
        return in_entry(parser, kind);
    if (kind > PRODUCT)
        return wrong(parser, "'%s' stands outside of an entry", kinds[kind].word);
    return kind == DEVICE || parser->section_count > 0 ||
           wrong(parser, "a %s before any device", kinds[kind].word);
}

/* After a line of this kind was read. */
static void step_on(struct parser *parser, enum kind kind)
{
    parser->begun = 1;
    parser->lines_read = kind == NETWORK || kind == PRODUCT ? 1 : parser->lines_read + 1;
    if (kind == CHECKSUM)
        parser->lines = NULL;
}

static int read_words(struct parser *parser)
{
    struct span word = next_word(parser);
    int kind = 0;
    if (!word.length || *word.at == '#')
        return 1;
    while (kind < KINDS && !is_word(word, kinds[kind].word))
        kind++;
    if (kind == KINDS && parser->begun)
        return wrong(parser, "unknown word '%s'", quote(word).text);
    if (!in_place(parser, (enum kind)kind) || !kinds[kind].read(parser) || !end_of_line(parser))
        return 0;
    step_on(parser, (enum kind)kind);
    return 1;
}

/* Takes the next line from the text; both ways of ending it are good, and the last one needs none. */
static int read_line(struct parser *parser)
{
    struct span *words = &parser->words;
    const char *feed = memchr(parser->rest, '\n', (size_t)(parser->end - parser->rest));
    *words = (struct span){parser->rest, (size_t)((feed ? feed : parser->end) - parser->rest)};
    parser->rest = feed ? feed + 1 : parser->end;
    parser->line++;
    if (words->length && words->at[words->length - 1] == '\r')
        words->length--;
    for (size_t i = 0; i < words->length; i++)
        if (mlp_plan_is_control(words->at[i]))
            return wrong(parser, "byte %zu of the line is 0x%02x, a control character", i + 1,
                         (unsigned)(unsigned char)words->at[i]);
    return read_words(parser);
}

static int read_lines(struct parser *parser)
{
    while (parser->rest < parser->end)
        if (!read_line(parser))
            return 0;
    if (!parser->line)
        parser->line = 1;
    if (!parser->begun)
        return wrong(parser, "the file ends before a line 'mlpc plans 1'");
    return !parser->lines || cut_short(parser);
}

/* ---- What was read, in order ---- */

static int by_device(const void *left, const void *right)
{
    const struct section *const *a = left, *const *b = right;
    return mlp_plan_compare_places((*a)->place, (*b)->place);
}

/* Equal names become one text. */
static int rank_sections(struct parser *parser)
{
    size_t count = parser->section_count;
    struct section **sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return out_of_memory(parser);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &parser->sections[i];
    qsort(sorted, count, sizeof *sorted, by_device);
    for (size_t i = 1; i < count; i++) {
        mlp_plan_place *place = &sorted[i]->place, before = sorted[i - 1]->place;
        if (!mlp_plan_compare_names(place->device, before.device))
            place->device = before.device;
        sorted[i]->rank = sorted[i - 1]->rank + (mlp_plan_compare_places(*place, before) != 0);
    }
    free(sorted);
    return 1;
}

static int by_place(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    int order = mlp_plan_compare_words(a->words, b->words);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static void sort_items(const struct parser *parser, const struct items *items)
{
    for (size_t i = 0; i < items->count; i++)
        items->at[i].rank = parser->sections[items->at[i].section].rank;
    if (items->count)
        qsort(items->at, items->count, sizeof *items->at, by_place);
}

/* The first line in the file that repeats an earlier one, which is sorted right before it. NULL: none does. */
static const struct item *first_repeated(const struct items *items)
{
    const struct item *first = NULL;
    for (size_t i = 1; i < items->count; i++) {
        const struct item *item = &items->at[i];
        if (item->rank == item[-1].rank && !strcmp(item->words, item[-1].words) &&
            (!first || item->line < first->line))
            first = item;
    }
    return first;
}

static int no_two_alike(struct parser *parser)
{
    const struct item *product = first_repeated(&parser->products), *network = first_repeated(&parser->networks);
    const struct item *first = !product || (network && network->line < product->line) ? network : product;
    if (!first)
        return 1;
    parser->line = first->line;
    return wrong(parser, "the %s of line %zu again, for the same device and library",
                 first == network ? "network" : "product", first[-1].line);
}

static mlp_plan_entry product_of(const struct parser *parser, const struct item *item)
{
    mlp_plan_place place = parser->sections[item->section].place;
    mlp_plan_entry entry = item->product;
    entry.device = place.device;
    entry.multiprocessors = place.multiprocessors;
    entry.library = place.library;
    entry.product = item->words;
    return entry;
}

static mlp_form_entry network_of(const struct parser *parser, const struct item *item)
{
    mlp_plan_place place = parser->sections[item->section].place;
    mlp_form_entry entry = item->network;
    entry.device = place.device;
    entry.multiprocessors = place.multiprocessors;
    entry.library = place.library;
    entry.network = item->words;
    return entry;
}

static int hand_over(struct parser *parser, mlp_plan_file *file)
{
    const struct items *products = &parser->products, *networks = &parser->networks;
    if (!products->count && !networks->count)
        return 1;
    if (!mlp_plan_file_reserve(file, products->count, networks->count))
        return out_of_memory(parser);
    for (size_t i = 0; i < products->count; i++)
        file->entries[i] = product_of(parser, &products->at[i]);
    for (size_t i = 0; i < networks->count; i++)
        file->forms[i] = network_of(parser, &networks->at[i]);
    file->count = products->count;
    file->form_count = networks->count;
    mlp_plan_file_adopt(file, parser->texts);
    parser->texts = NULL;
    return 1;
}

int mlp_plan_file_parse(const char *text, size_t length, mlp_plan_file *file, mlp_plan_error *error)
{
    struct parser parser = {.error = error, .rest = text, .end = length ? text + length : text};
    int good = 0;
    *file = (mlp_plan_file){.entries = NULL};
    *error = (mlp_plan_error){.line = 0};
    /* A name, product or network, with the 0 behind it, is shorter than the line that says it. */
    parser.texts = malloc(sizeof *parser.texts + length);
    if (!parser.texts) {
        out_of_memory(&parser);
    } else {
        parser.next_text = parser.texts->bytes;
        if (read_lines(&parser) && rank_sections(&parser)) {
            sort_items(&parser, &parser.products);
            sort_items(&parser, &parser.networks);
            good = no_two_alike(&parser) && hand_over(&parser, file);
        }
    }
    free(parser.texts);
    free(parser.sections);
    free(parser.products.at);
    free(parser.networks.at);
    return good;
}
