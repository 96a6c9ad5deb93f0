#include "format.h"

#include <assert.h>

#include "lexemes.h"
#include "parse.h"

enum {
    INDENT = 4,
    WIDEST = 100,                   /* a line, its comment aside */
    DEEPEST = 8,                    /* levels that a line inside of a statement is indented by */
    COMMENT_GAP = 2,
    WIDEST_ALIGNED = 80,            /* lines beyond do not push their neighbours' comments to the right */
};

struct line {
    bool blank_before;
    bool inside;                    /* of a statement, not its first */
    int indent;
    size_t begin, end;              /* of its code in the text; nothing where it is a comment alone */
    int columns;                    /* with indentation, without the comment */
    const struct lexeme *comment;   /* or NULL */
    int comment_column;             /* of one behind code */
};

struct layout {
    struct arena *arena;
    struct lexemes lexemes;
    VEC(char) text;                 /* the code of all lines, one behind the other */
    VEC(struct line) lines;
    int level;                      /* of braces */
    size_t settings_end;            /* the lexeme behind a run of settings ... */
    int settings_columns;           /* ... and its longest keyword */
};

static const struct lexeme *lexeme_at(const struct layout *layout, size_t i)
{
    return &layout->lexemes.list.at[i];
}

/* ---- Lines ---- */

static struct line *last_line(struct layout *layout)
{
    return layout->lines.count ? &layout->lines.at[layout->lines.count - 1] : NULL;
}

static bool has_code(const struct line *line)
{
    return line->end > line->begin;
}

static void begin_line(struct layout *layout, int indent)
{
    struct line line = {.indent = indent, .begin = layout->text.count, .end = layout->text.count, .columns = indent};
    VEC_PUSH(layout->arena, &layout->lines, line);
}

static void append(struct layout *layout, const char *text, size_t length)
{
    struct line *line = last_line(layout);
    for (size_t i = 0; i < length; i++)
        VEC_PUSH(layout->arena, &layout->text, text[i]);
    line->end = layout->text.count;
    line->columns += lexeme_columns(text, length);
}

/* Blank lines stay, one of several, but for those at the begin and the end of the file and of what braces enclose. */
static bool keeps_blank(struct layout *layout, const struct lexeme *first)
{
    const struct line *before = last_line(layout);
    bool opened = before && has_code(before) && layout->text.at[before->end - 1] == '{';
    return before && !opened && first->line_ends > 1 && first->kind != TOKEN_CLOSE_BRACE;
}

/* ---- Settings: batch, dtype and weights, whose values stand in one column ---- */

static bool is_setting(const struct lexeme *lexeme)
{
    return lexeme->kind == TOKEN_BATCH || lexeme->kind == TOKEN_DTYPE || lexeme->kind == TOKEN_WEIGHTS;
}

/* Behind the statement's end; a comment may follow. */
static size_t skip_statement(const struct layout *layout, size_t i)
{
    while (lexeme_at(layout, i)->kind != TOKEN_SEMICOLON)
        i++;
    return i + 1;
}

/* Settings that no blank line and no other statement divides. */
static void measure_settings(struct layout *layout, size_t i)
{
    layout->settings_columns = 0;
    for (bool divided = false; i < layout->lexemes.list.count && !divided;) {
        const struct lexeme *lexeme = lexeme_at(layout, i);
        if (is_setting(lexeme)) {
            if ((int)lexeme->length > layout->settings_columns)
                layout->settings_columns = (int)lexeme->length;
            i = layout->settings_end = skip_statement(layout, i);
        } else if (lexeme->kind == LEXEME_COMMENT) {
            i++;
        } else {
            break;
        }
        divided = i < layout->lexemes.list.count && lexeme_at(layout, i)->line_ends > 1;
    }
}

static void align_setting(struct layout *layout, size_t i)
{
    if (i >= layout->settings_end)
        measure_settings(layout, i);
    if (lexeme_at(layout, i + 1)->kind == LEXEME_COMMENT)
        return;
    for (int columns = (int)lexeme_at(layout, i)->length; columns < layout->settings_columns; columns++)
        append(layout, " ", 1);
}

/* ---- Statements ---- */

/* Where a line inside of a statement begins. What closes stands below what it closes. */
static int inner_indent(const struct layout *layout, const struct lexeme *lexeme)
{
    int depth = lexeme->depth;
    bool closes = lexeme->kind == TOKEN_CLOSE_PAREN || lexeme->kind == TOKEN_CLOSE_BRACKET ||
                  lexeme->kind == TOKEN_OPEN_BRACE;
    if (!depth && !closes)
        depth = 1;
    return INDENT * (layout->level + (depth < DEEPEST ? depth : DEEPEST));
}

/* Whether all stays on the line up to where it could be broken just as well. */
static bool fits(struct layout *layout, size_t i)
{
    int rank = lexeme_at(layout, i)->rank, columns = last_line(layout)->columns;
    for (size_t first = i; i < layout->lexemes.list.count && columns <= WIDEST; i++) {
        const struct lexeme *lexeme = lexeme_at(layout, i);
        bool may_end = lexeme->rank != NO_BREAK && lexeme->rank <= rank;
        if (lexeme->kind == LEXEME_COMMENT || (i > first && may_end))
            break;
        columns += lexeme->space + lexeme_columns(lexeme->text, lexeme->length);
        if (lexeme->kind == TOKEN_SEMICOLON || lexeme->kind == TOKEN_OPEN_BRACE)
            break;
    }
    return columns <= WIDEST;
}

static bool ends_line(int kind)
{
    return kind == TOKEN_SEMICOLON || kind == TOKEN_OPEN_BRACE || kind == TOKEN_CLOSE_BRACE;
}

static void begin_inside(struct layout *layout, const struct lexeme *lexeme)
{
    begin_line(layout, inner_indent(layout, lexeme));
    last_line(layout)->inside = true;
}

/* A statement, or the begin or the end of what braces enclose; returns the lexeme behind it. */
static size_t add_statement(struct layout *layout, size_t first)
{
    bool broken = false;            /* by a comment */
    for (size_t i = first;; i++) {
        const struct lexeme *lexeme = lexeme_at(layout, i);
        bool comment = lexeme->kind == LEXEME_COMMENT, may_break = lexeme->rank != NO_BREAK;
        if (comment ? lexeme->line_ends : i > first && (broken || (may_break && !fits(layout, i))))
            begin_inside(layout, lexeme);
        else if (lexeme->space && i > first)
            append(layout, " ", 1);
        broken = comment;
        if (comment) {
            last_line(layout)->comment = lexeme;
            continue;
        }
        append(layout, lexeme->text, lexeme->length);
        if (i == first && is_setting(lexeme))
            align_setting(layout, i);
        if (ends_line(lexeme->kind))
            return i + 1;
    }
}

static void add_lines(struct layout *layout)
{
    for (size_t i = 0; i < layout->lexemes.list.count;) {
        const struct lexeme *lexeme = lexeme_at(layout, i);
        if (lexeme->kind == LEXEME_COMMENT && !lexeme->line_ends && layout->lines.count) {
            last_line(layout)->comment = lexeme;
            i++;
            continue;
        }
        bool blank = keeps_blank(layout, lexeme);
        size_t line = layout->lines.count;
        if (lexeme->kind == TOKEN_CLOSE_BRACE)
            layout->level--;
        begin_line(layout, INDENT * layout->level);
        if (lexeme->kind == LEXEME_COMMENT) {
            last_line(layout)->comment = lexeme;
            i++;
        } else {
            i = add_statement(layout, i);
        }
        layout->lines.at[line].blank_before = blank;
        if (lexeme_at(layout, i - 1)->kind == TOKEN_OPEN_BRACE)
            layout->level++;
    }
    assert(!layout->level);
}

/* ---- Comments behind code: those of neighbouring lines of one level stand in one column ---- */

static bool is_behind_code(const struct line *line)
{
    return line->comment && has_code(line);
}

/* A comment that goes on in the column of the one above. Inside of a statement a line may begin there anyway. */
static bool goes_on(const struct line *line)
{
    return line->comment && !has_code(line) && !line->inside && line->comment->column == line[-1].comment->column;
}

static void align_comments(struct layout *layout)
{
    for (size_t i = 0, end; i < layout->lines.count; i = end) {
        struct line *lines = layout->lines.at;
        end = i + 1;
        if (!is_behind_code(&lines[i]))
            continue;
        bool alone = lines[i].columns > WIDEST_ALIGNED;
        int column = lines[i].columns;
        for (; end < layout->lines.count && !lines[end].blank_before; end++) {
            bool joins = !alone && is_behind_code(&lines[end]) && lines[end].indent == lines[i].indent &&
                         lines[end].columns <= WIDEST_ALIGNED;
            if (!joins && !goes_on(&lines[end]))
                break;
            if (joins && lines[end].columns > column)
                column = lines[end].columns;
        }
        for (; i < end; i++)
            lines[i].comment_column = column + COMMENT_GAP;
    }
}

/* ---- Text ---- */

struct text {
    VEC(char) bytes;
};

static void add_text(struct arena *arena, struct text *text, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        VEC_PUSH(arena, &text->bytes, bytes[i]);
}

static void add_blanks(struct arena *arena, struct text *text, int count)
{
    for (int i = 0; i < count; i++)
        add_text(arena, text, " ", 1);
}

static void add_line(const struct layout *layout, struct text *text, const struct line *line)
{
    if (line->blank_before)
        add_text(layout->arena, text, "\n", 1);
    if (has_code(line)) {
        add_blanks(layout->arena, text, line->indent);
        add_text(layout->arena, text, layout->text.at + line->begin, line->end - line->begin);
    }
    if (line->comment) {
        int column = line->comment_column ? line->comment_column : line->indent;
        add_blanks(layout->arena, text, has_code(line) ? column - line->columns : column);
        add_text(layout->arena, text, line->comment->text, line->comment->length);
    }
    add_text(layout->arena, text, "\n", 1);
}

const char *format_spec(struct arena *arena, struct diags *diags, const struct source *source, size_t *length)
{
    struct layout layout = {.arena = arena, .lexemes = read_lexemes(arena, diags, source)};
    struct text text = {0};
    add_lines(&layout);
    align_comments(&layout);
    for (size_t i = 0; i < layout.lines.count; i++)
        add_line(&layout, &text, &layout.lines.at[i]);
    *length = text.bytes.count;
    add_text(arena, &text, "", 1);
    return text.bytes.at;
}
