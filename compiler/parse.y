/* Tokens into the tree of ast.h. An action is one constructor call; meaning belongs to later passes. After a mistake
 * parsing goes on behind the next ';', or at what can only begin something new. */
%code requires {
#include "ast.h"

/* What is written otherwise in other languages, and reported once. */
enum habit { HABIT_QUOTES, HABIT_COMMENT, HABIT_FOR, HABIT_COUNT };

/* What scanner and parser share beside the tokens. */
struct parser {
    struct arena *arena;
    struct diags *diags;
    struct spec *spec;
    uint32_t position;              /* of the scanner */
    uint32_t last_end;              /* of the token before the one that is looked at */
    int statement;                  /* the token that began the statement which is being read */
    struct span statement_span;     /* its place */
    bool at_statement;              /* the next token begins one */
    bool in_budget;
    bool too_deep;                  /* reported */
    bool reported[HABIT_COUNT];
    uint32_t string_begin;          /* of the string that is being read */
    struct string *string;
    VEC(char) text;
};
}

%code provides {
/* The scanner, under a name of its own: the parser reads through yylex below. */
#define YY_DECL int lex_token(YYSTYPE *yylval_param, YYLTYPE *yylloc_param, void *yyscanner)
YY_DECL;

/* A scanner of the whole source, behind its byte order mark; false after a message. */
bool parser_scanner(struct parser *parser, const struct source *source, void **scanner);

/* Whether names are made of it. */
bool parser_names(char byte);
}

%code {
#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define YYMALLOC sure_malloc
#define YYFREE   free

#include "lex.h"
#include "nearest.h"
#include "utf8.h"

#define YYLLOC_DEFAULT(current, rhs, count)                                                                     \
    do {                                                                                                        \
        if (count) {                                                                                            \
            (current).begin = YYRHSLOC(rhs, 1).begin;                                                           \
            (current).end = YYRHSLOC(rhs, count).end;                                                           \
        } else {                                                                                                \
            (current).begin = (current).end = YYRHSLOC(rhs, 0).end;                                             \
        }                                                                                                       \
    } while (0)

/* Tokens that may wait on the stack: some ten for each level of nesting. */
#define YYMAXDEPTH 20000

static int yylex(YYSTYPE *value, YYLTYPE *span, struct parser *parser, void *scanner);
static void yyerror(const YYLTYPE *span, struct parser *parser, void *scanner, const char *message);
static struct expr *limit(struct parser *parser, struct expr *expr);
static struct stmt *limit_stmt(struct parser *parser, struct stmt *stmt);

#define ARENA parser->arena
}

%require "3.8"
%expect 0
%define api.pure full
%define api.location.type {struct span}
%define api.token.prefix {TOKEN_}
%define api.value.type union
%define parse.error custom
%define parse.lac full
%define lr.default-reduction consistent
%param {struct parser *parser} {void *scanner}

%initial-action { @$ = (struct span){parser->position, parser->position}; }

%token END 0                "the end of the file"
%token <const struct name *> NAME "a name"
%token <struct number> NUMBER "a number"
%token <struct string *> STRING "a string"
%token MODEL "model" INPUT "input" OUTPUT "output" BATCH "batch" DTYPE "dtype" WEIGHTS "weights" CONST "const"
%token BLOCK "block" RETURN "return" REPEAT "repeat" IN "in" TRUE "true" FALSE "false"
%token BUDGET "budget"              /* no reserved word: see yylex */
%token DOTS ".." EQUALS "=" PLUS "+" MINUS "-" TIMES "*" OVER "/" COLON ":" COMMA "," SEMICOLON ";"
%token OPEN_PAREN "(" CLOSE_PAREN ")" OPEN_BRACKET "[" CLOSE_BRACKET "]" OPEN_BRACE "{" CLOSE_BRACE "}"

%left "+" "-"
%left "*" "/"
%precedence NEGATE
%precedence "["

%nterm <struct identifier> name type unit
%nterm <struct identifiers *> params some_params
%nterm <struct stmts *> stmts items
%nterm <struct stmt *> stmt item
%nterm <struct exprs *> sizes
%nterm <struct limits *> limits
%nterm <struct limit> limit
%nterm <struct expr *> expr argument result
%nterm <struct args *> args some_args
%nterm <struct arg> arg
%nterm <struct block *> block
%nterm <struct model *> model

%%

file
: %empty
| file "const" constants ";"
| file "const" error ";"                            { yyerrok; }
| file "const" error
| file block                                        { VEC_PUSH(ARENA, &parser->spec->blocks, $block); }
| file model                                        { VEC_PUSH(ARENA, &parser->spec->models, $model); }
| file error ";"
| file error
;

constants
: constant
| constants "," constant
;

constant
: name "=" expr
    {
        struct constant constant = {$name, $expr};
        VEC_PUSH(ARENA, &parser->spec->constants, constant);
    }
;

block
: "block" name "(" params ")" "{" stmts result "}"
    {
        $$ = ARENA_NEW(ARENA, struct block);
        *$$ = (struct block){$name, parser->spec->blocks.count, $params, $stmts, $result};
    }
| "block" name "(" params ")" "{" stmts result error            { $$ = ARENA_NEW(ARENA, struct block); }
| "block" name "(" params ")" "{" stmts error "}"               { $$ = ARENA_NEW(ARENA, struct block); }
| "block" name "(" params ")" "{" stmts error                   { $$ = ARENA_NEW(ARENA, struct block); }
| "block" error "{" stmts result "}"                            { $$ = ARENA_NEW(ARENA, struct block); }
| "block" error "{" stmts error "}"                             { $$ = ARENA_NEW(ARENA, struct block); }
;

params
: %empty                                            { $$ = ARENA_NEW(ARENA, struct identifiers); }
| some_params
;

some_params
: name
    {
        $$ = ARENA_NEW(ARENA, struct identifiers);
        VEC_PUSH(ARENA, &$$->list, $name);
    }
| some_params[before] "," name                      { VEC_PUSH(ARENA, &$before->list, $name); $$ = $before; }
;

result
: "return" expr ";"                                 { $$ = $expr; }
| "return" error ";"                                { $$ = NULL; yyerrok; }
;

model
: "model" name "{" items "}"
    {
        $$ = ARENA_NEW(ARENA, struct model);
        *$$ = (struct model){$name, $items};
    }
| "model" name "{" items error "}"                  { $$ = ARENA_NEW(ARENA, struct model); }
| "model" name "{" items error                      { $$ = ARENA_NEW(ARENA, struct model); }
| "model" error "{" items "}"                       { $$ = ARENA_NEW(ARENA, struct model); }
| "model" error "{" items error "}"                 { $$ = ARENA_NEW(ARENA, struct model); }
;

items
: %empty                                            { $$ = ARENA_NEW(ARENA, struct stmts); }
| items[before] item                                { ast_append(ARENA, $before, $item); $$ = $before; }
| items[before] stmt                                { ast_append(ARENA, $before, $stmt); $$ = $before; }
| items[before] error ";"                           { $$ = $before; yyerrok; }
| items[before] error "{" stmts "}"                 { $$ = $before; yyerrok; }
;

item
: "batch" sizes ";"
    {
        $$ = ast_stmt(parser->spec, ARENA, STMT_BATCH, @$);
        $$->sizes = $sizes;
    }
| "dtype" name ";"
    {
        $$ = ast_stmt(parser->spec, ARENA, STMT_DTYPE, @$);
        $$->type = $name;
    }
| "weights" STRING ";"
    {
        $$ = ast_stmt(parser->spec, ARENA, STMT_WEIGHTS, @$);
        $$->value = ast_leaf(ARENA, EXPR_STRING, @STRING);
        $$->value->string = $STRING;
    }
| "budget" "{" limits "}"
    {
        $$ = ast_stmt(parser->spec, ARENA, STMT_BUDGET, @1);
        $$->limits = $limits;
    }
| "budget" "{" limits error "}"
    {
        $$ = ast_stmt(parser->spec, ARENA, STMT_BUDGET, @1);
        $$->limits = $limits;
    }
| "input" name[target] ":" name[kind] "[" expr "]" ";"
    {
        $$ = ast_stmt(parser->spec, ARENA, STMT_INPUT, @$);
        $$->target = $target;
        $$->type = $kind;
        $$->value = $expr;
    }
| "output" name type ";"
    {
        $$ = ast_stmt(parser->spec, ARENA, STMT_OUTPUT, @$);
        $$->target = $name;
        $$->type = $type;
    }
| "output" name type "=" expr ";"
    {
        $$ = ast_stmt(parser->spec, ARENA, STMT_OUTPUT, @$);
        $$->target = $name;
        $$->type = $type;
        $$->value = $expr;
    }
;

limits
: %empty                                            { $$ = ARENA_NEW(ARENA, struct limits); }
| limits[before] limit                              { VEC_PUSH(ARENA, &$before->list, $limit); $$ = $before; }
| limits[before] error ";"                          { $$ = $before; yyerrok; }
;

limit
: name[what] expr unit ";"                          { $$ = (struct limit){$what, $expr, $unit}; }
;

unit
: %empty                                            { $$ = (struct identifier){.name = NULL}; }
| name
;

sizes
: expr
    {
        $$ = ARENA_NEW(ARENA, struct exprs);
        VEC_PUSH(ARENA, &$$->list, $expr);
    }
| sizes[before] "," expr                            { VEC_PUSH(ARENA, &$before->list, $expr); $$ = $before; }
;

type
: %empty                                            { $$ = (struct identifier){.name = NULL}; }
| ":" name                                          { $$ = $name; }
;

stmts
: %empty                                            { $$ = ARENA_NEW(ARENA, struct stmts); }
| stmts[before] stmt                                { ast_append(ARENA, $before, $stmt); $$ = $before; }
| stmts[before] error ";"                           { $$ = $before; yyerrok; }
| stmts[before] error "{" stmts "}"                 { $$ = $before; yyerrok; }
;

stmt
: name "=" expr ";"
    {
        $$ = ast_stmt(parser->spec, ARENA, STMT_ASSIGN, @$);
        $$->target = $name;
        $$->value = $expr;
    }
| "repeat" name "in" expr[from] ".." expr[to] "{" stmts "}"
    {
        $$ = ast_stmt(parser->spec, ARENA, STMT_REPEAT, @$);
        $$->target = $name;
        $$->from = $from;
        $$->to = $to;
        $$->body = $stmts;
        $$ = limit_stmt(parser, $$);
    }
| "repeat" name "in" expr ".." expr "{" stmts error "}"
    {
        $$ = ast_stmt(parser->spec, ARENA, STMT_REPEAT, @$);
        $$->body = $stmts;
    }
| misplaced                                         { $$ = ast_stmt(parser->spec, ARENA, STMT_ASSIGN, @$); }
;

/* Whole, so that one error is enough. */
misplaced
: "block" name "(" params ")" "{" stmts result "}"
    { diag_error(parser->diags, DIAG_SYNTAX, @1, "a block stands outside the model and other blocks, above them"); }
| "const" constants ";"
    { diag_error(parser->diags, DIAG_SYNTAX, @1, "a constant stands outside the model and the blocks"); }
;

expr
: expr[left] "+" expr[right]                        { $$ = limit(parser, ast_binary(ARENA, '+', $left, $right)); }
| expr[left] "-" expr[right]                        { $$ = limit(parser, ast_binary(ARENA, '-', $left, $right)); }
| expr[left] "*" expr[right]                        { $$ = limit(parser, ast_binary(ARENA, '*', $left, $right)); }
| expr[left] "/" expr[right]                        { $$ = limit(parser, ast_binary(ARENA, '/', $left, $right)); }
| "-" expr[of] %prec NEGATE                         { $$ = limit(parser, ast_negate(ARENA, $of, @$)); }
| expr[of] "[" expr[from] ":" expr[to] "]"          { $$ = limit(parser, ast_slice(ARENA, $of, $from, $to, @$)); }
| "(" expr[inner] ")"                               { $$ = ast_parens($inner, @$); }
| name                                              { $$ = ast_leaf(ARENA, EXPR_NAME, @$); $$->name = $name.name; }
| NUMBER                                            { $$ = ast_leaf(ARENA, EXPR_NUMBER, @$); $$->number = $NUMBER; }
| STRING                                            { $$ = ast_leaf(ARENA, EXPR_STRING, @$); $$->string = $STRING; }
| name "(" args ")"                                 { $$ = limit(parser, ast_call(ARENA, $name, $args, @$)); }
;

args
: %empty                                            { $$ = ARENA_NEW(ARENA, struct args); }
| some_args
;

some_args
: arg
    {
        $$ = ARENA_NEW(ARENA, struct args);
        VEC_PUSH(ARENA, &$$->list, $arg);
    }
| some_args[before] "," arg                         { VEC_PUSH(ARENA, &$before->list, $arg); $$ = $before; }
;

arg
: argument                                          { $$ = (struct arg){.value = $argument}; }
| name "=" argument                                 { $$ = (struct arg){$name, $argument}; }
;

argument
: expr
| "true"                                            { $$ = ast_leaf(ARENA, EXPR_TRUTH, @$); $$->truth = true; }
| "false"                                           { $$ = ast_leaf(ARENA, EXPR_TRUTH, @$); }
;

name
: NAME                                              { $$ = (struct identifier){$NAME, @NAME}; }
;

%%

/* Behind blanks and comments. */
static char next_byte(const struct parser *parser)
{
    const char *text = parser->spec->source->text + parser->position;
    for (;;) {
        text += strspn(text, " \t\r\n\f\v");
        if (*text != '#')
            return *text;
        text += strcspn(text, "\n");
    }
}

/* `budget` is a name like any other but where a statement begins and a brace follows. */
static bool begins_budget(const struct parser *parser, const YYSTYPE *value)
{
    return parser->at_statement && !strcmp(value->TOKEN_NAME->text, "budget") && next_byte(parser) == '{';
}

static int yylex(YYSTYPE *value, YYLTYPE *span, struct parser *parser, void *scanner)
{
    parser->last_end = span->end;
    int token = lex_token(value, span, scanner);
    if (token == TOKEN_END)
        *span = (struct span){parser->last_end, parser->last_end};
    if (token == TOKEN_NAME && begins_budget(parser, value))
        token = TOKEN_BUDGET;
    parser->in_budget = (parser->in_budget || token == TOKEN_BUDGET) && token != TOKEN_CLOSE_BRACE;
    if (parser->at_statement) {
        parser->statement = parser->in_budget ? TOKEN_BUDGET : token;
        parser->statement_span = *span;
    }
    parser->at_statement = token == TOKEN_SEMICOLON || token == TOKEN_OPEN_BRACE || token == TOKEN_CLOSE_BRACE;
    return token;
}

/* ---- Depth ---- */

static void limit_depth(struct parser *parser, int *depth, struct span span)
{
    if (*depth <= AST_DEPTH_MAX)
        return;
    *depth = 0;
    yyerror(&span, parser, NULL, NULL);
}

static struct expr *limit(struct parser *parser, struct expr *expr)
{
    limit_depth(parser, &expr->depth, expr->span);
    return expr;
}

static struct stmt *limit_stmt(struct parser *parser, struct stmt *stmt)
{
    limit_depth(parser, &stmt->body->depth, stmt->span);
    return stmt;
}

/* The parser itself calls this only where its stack is full. */
static void yyerror(const YYLTYPE *span, struct parser *parser, void *scanner, const char *message)
{
    (void)scanner;
    (void)message;
    if (!parser->too_deep)
        diag_error(parser->diags, DIAG_NESTING_TOO_DEEP, *span, "nested deeper than %d levels", AST_DEPTH_MAX);
    parser->too_deep = true;
}

/* ---- Syntax errors ---- */

/* Where the first token of a row could come, so can all the others that begin or continue the same thing: the message
 * names that thing, or, of what could continue an expression, only what ends it. */
static const struct {
    yysymbol_kind_t trigger;
    const char *phrase;             /* NULL: leave the tokens out */
    yysymbol_kind_t members[11];    /* up to the first 0 */
} groups[] = {
    {YYSYMBOL_NUMBER, "an expression",
     {YYSYMBOL_NAME, YYSYMBOL_NUMBER, YYSYMBOL_STRING, YYSYMBOL_OPEN_PAREN, YYSYMBOL_MINUS, YYSYMBOL_TRUE,
      YYSYMBOL_FALSE}},
    {YYSYMBOL_PLUS, NULL,
     {YYSYMBOL_PLUS, YYSYMBOL_MINUS, YYSYMBOL_TIMES, YYSYMBOL_OVER, YYSYMBOL_OPEN_BRACKET, YYSYMBOL_OPEN_PAREN,
      YYSYMBOL_EQUALS}},
    {YYSYMBOL_REPEAT, "a statement",
     {YYSYMBOL_NAME, YYSYMBOL_REPEAT, YYSYMBOL_BATCH, YYSYMBOL_DTYPE, YYSYMBOL_WEIGHTS, YYSYMBOL_BUDGET,
      YYSYMBOL_INPUT, YYSYMBOL_OUTPUT, YYSYMBOL_BLOCK, YYSYMBOL_CONST}},
};

/* Mistakes that are told by the token found, by what could have come, and by the statement they are in. */
static const char a_slice[] = "a slice is x[begin:end]: columns begin .. end - 1, from 0";
static const char a_row[] = "an input gives the width of a row only: f32[64]";
static const char an_input[] = "an input is written as input x: f32[64];";
static const char a_range[] = "a repeat runs over a range: repeat i in 0..3 { ... }";
static const char a_setting[] = "a setting has no '=': batch 1; dtype f32; weights \"net.safetensors\";";
static const char a_budget[] = "a budget is written as budget { device 64 MiB; host 1 MiB; }";
static const struct {
    yysymbol_kind_t found, expected;
    int statement;                  /* 0: any */
    const char *text;
} hints[] = {
    {YYSYMBOL_OPEN_BRACKET, YYSYMBOL_EQUALS, TOKEN_OUTPUT, "an output's width follows from its value"},
    {YYSYMBOL_COMMA, YYSYMBOL_CLOSE_BRACKET, TOKEN_INPUT, a_row},
    {YYSYMBOL_COLON, YYSYMBOL_CLOSE_BRACKET, TOKEN_INPUT, a_row},
    {YYSYMBOL_CLOSE_BRACKET, YYSYMBOL_NUMBER, TOKEN_INPUT, a_row},
    {YYSYMBOL_COLON, YYSYMBOL_NUMBER, TOKEN_INPUT, a_row},
    {YYSYMBOL_SEMICOLON, YYSYMBOL_COLON, TOKEN_INPUT, an_input},
    {YYSYMBOL_OPEN_BRACKET, YYSYMBOL_COLON, TOKEN_INPUT, an_input},
    {YYSYMBOL_SEMICOLON, YYSYMBOL_OPEN_BRACKET, TOKEN_INPUT, an_input},
    {YYSYMBOL_EQUALS, YYSYMBOL_NUMBER, TOKEN_BUDGET, a_budget},
    {YYSYMBOL_COLON, YYSYMBOL_NUMBER, TOKEN_BUDGET, a_budget},
    {YYSYMBOL_SEMICOLON, YYSYMBOL_NUMBER, TOKEN_BUDGET, a_budget},
    {YYSYMBOL_COMMA, YYSYMBOL_SEMICOLON, TOKEN_BUDGET, a_budget},
    {YYSYMBOL_NUMBER, YYSYMBOL_CLOSE_BRACE, TOKEN_BUDGET, a_budget},
    {YYSYMBOL_OPEN_BRACE, YYSYMBOL_EQUALS, TOKEN_NAME, "of names only 'budget' has braces: budget { device 64 MiB; }"},
    {YYSYMBOL_CLOSE_BRACKET, YYSYMBOL_COLON, 0, a_slice},
    {YYSYMBOL_COMMA, YYSYMBOL_COLON, 0, a_slice},
    {YYSYMBOL_CLOSE_BRACKET, YYSYMBOL_NUMBER, 0, a_slice},
    {YYSYMBOL_COLON, YYSYMBOL_NUMBER, 0, a_slice},
    {YYSYMBOL_COLON, YYSYMBOL_CLOSE_BRACKET, 0, a_slice},
    {YYSYMBOL_COMMA, YYSYMBOL_CLOSE_BRACKET, 0, a_slice},
    {YYSYMBOL_OPEN_PAREN, YYSYMBOL_EQUALS, TOKEN_NAME, "a statement gives its value a name: h = relu(x);"},
    {YYSYMBOL_OPEN_PAREN, YYSYMBOL_SEMICOLON, 0, "only a name can be called, not a value: relu(x)"},
    {YYSYMBOL_OPEN_PAREN, YYSYMBOL_CLOSE_PAREN, 0, "only a name can be called, not a value: relu(x)"},
    {YYSYMBOL_OPEN_BRACKET, YYSYMBOL_TRUE, 0, "there are no lists: concat(a, b, ...) takes values one by one"},
    {YYSYMBOL_OPEN_BRACE, YYSYMBOL_DOTS, 0, a_range},
    {YYSYMBOL_COLON, YYSYMBOL_DOTS, 0, a_range},
    {YYSYMBOL_EQUALS, YYSYMBOL_STRING, TOKEN_WEIGHTS, a_setting},
    {YYSYMBOL_EQUALS, YYSYMBOL_NUMBER, TOKEN_BATCH, a_setting},
    {YYSYMBOL_EQUALS, YYSYMBOL_NAME, TOKEN_DTYPE, a_setting},
    {YYSYMBOL_INPUT, YYSYMBOL_REPEAT, 0, "inputs stand in the model, not in a block or a repeat"},
    {YYSYMBOL_OUTPUT, YYSYMBOL_REPEAT, 0, "outputs stand in the model, not in a block or a repeat"},
    {YYSYMBOL_BATCH, YYSYMBOL_REPEAT, 0, "'batch' stands in the model, not in a block or a repeat"},
    {YYSYMBOL_DTYPE, YYSYMBOL_REPEAT, 0, "'dtype' stands in the model, not in a block or a repeat"},
    {YYSYMBOL_WEIGHTS, YYSYMBOL_REPEAT, 0, "'weights' stands in the model, not in a block or a repeat"},
    {YYSYMBOL_BUDGET, YYSYMBOL_REPEAT, 0, "'budget' stands in the model, not in a block or a repeat"},
    {YYSYMBOL_RETURN, YYSYMBOL_INPUT, 0, "a model has no 'return', it has outputs: output y = ...;"},
    {YYSYMBOL_RETURN, YYSYMBOL_REPEAT, 0, "'return' stands at the end of a block"},
    {YYSYMBOL_TRUE, YYSYMBOL_NUMBER, 0, "'true' is an argument of functions only"},
    {YYSYMBOL_FALSE, YYSYMBOL_NUMBER, 0, "'false' is an argument of functions only"},
};

enum { MOST_EXPECTED = 5, MOST_QUOTED = 40 };

struct expectation {
    bool can[YYNTOKENS];            /* by symbol: it could come here */
    bool of[YYNTOKENS];             /* the same without those that a phrase stands for */
    const char *phrases[MOST_EXPECTED];
    int phrase_count;
};

static struct expectation find_expectation(const yypcontext_t *context)
{
    struct expectation expected = {.phrase_count = 0};
    yysymbol_kind_t symbols[YYNTOKENS];
    int count = yypcontext_expected_tokens(context, symbols, YYNTOKENS);
    for (int i = 0; i < count; i++)
        expected.can[symbols[i]] = expected.of[symbols[i]] = true;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (!expected.of[groups[i].trigger])
            continue;
        if (groups[i].phrase)
            expected.phrases[expected.phrase_count++] = groups[i].phrase;
        for (int j = 0; groups[i].members[j]; j++)
            expected.of[groups[i].members[j]] = false;
    }
    return expected;
}

static bool is_spelt_out(yysymbol_kind_t symbol)
{
    return symbol <= YYSYMBOL_STRING && symbol != YYSYMBOL_YYerror;
}

/* "';', ')' or an expression" */
static const char *expectation_text(struct arena *arena, const struct expectation *expected)
{
    const char *items[YYNTOKENS + MOST_EXPECTED];
    int count = 0;
    for (int i = 0; i < expected->phrase_count; i++)
        items[count++] = expected->phrases[i];
    for (int i = YYSYMBOL_YYEOF + 1; i < YYNTOKENS; i++) {      /* where the file may end, something may begin */
        const char *text = yysymbol_name((yysymbol_kind_t)i);
        if (expected->of[i])
            items[count++] = is_spelt_out((yysymbol_kind_t)i) ? text : arena_format(arena, "'%s'", text);
    }
    if (!count || count > MOST_EXPECTED)
        return NULL;
    const char *list = items[0];
    for (int i = 1; i < count; i++)
        list = arena_format(arena, "%s%s%s", list, i + 1 < count ? ", " : " or ", items[i]);
    return list;
}

/* The token as written, its middle left out where it is long. */
static const char *token_text(const struct parser *parser, struct span span)
{
    const char *text = parser->spec->source->text + span.begin;
    int length = (int)(span.end - span.begin);
    if (length <= MOST_QUOTED)
        return arena_format(parser->arena, "'%.*s'", length, text);
    return arena_format(parser->arena, "'%.*s...'", MOST_QUOTED, text);
}

static bool is_reserved(yysymbol_kind_t symbol)
{
    return symbol >= YYSYMBOL_MODEL && symbol <= YYSYMBOL_FALSE;
}

static const char *find_hint(const struct parser *parser, yysymbol_kind_t found, const struct expectation *expected)
{
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        if (hints[i].found == found && expected->can[hints[i].expected] &&
            (!hints[i].statement || hints[i].statement == parser->statement))
            return hints[i].text;
    }
    return NULL;
}

/* A reserved word where a name could be; at the begin of a line it is likelier that the line before is unfinished. */
static bool is_misused(const struct parser *parser, yysymbol_kind_t symbol, struct span span,
                       const struct expectation *expected)
{
    const char *between = parser->spec->source->text + parser->last_end;
    return is_reserved(symbol) && expected->can[YYSYMBOL_NAME] && !expected->can[YYSYMBOL_REPEAT] &&
           !memchr(between, '\n', span.begin - parser->last_end);
}

/* What other languages write for a keyword. */
static const char *find_keyword_elsewhere(const char *word)
{
    static const struct { const char *word, *keyword; } elsewhere[] = {
        {"def", "block"}, {"fn", "block"}, {"func", "block"}, {"function", "block"}, {"class", "model"},
        {"net", "model"}, {"network", "model"}, {"while", "repeat"}, {"loop", "repeat"}, {"tensor", "input"},
    };
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        if (!strcmp(elsewhere[i].word, word))
            return elsewhere[i].keyword;
    }
    return NULL;
}

/* Reports the word at `span` as another spelling of one of `keywords`, if it is one. */
static bool report_keyword(struct parser *parser, struct span span, const bool *keywords)
{
    const char *word = arena_copy(ARENA, parser->spec->source->text + span.begin, span.end - span.begin);
    const char *other = find_keyword_elsewhere(word), *meant = NULL;
    struct nearest nearest = nearest_to(word);
    for (int i = YYSYMBOL_MODEL; i <= YYSYMBOL_FALSE; i++) {
        const char *keyword = yysymbol_name((yysymbol_kind_t)i);
        if (!keywords[i])
            continue;
        nearest_offer(&nearest, keyword);
        if (other && !strcmp(other, keyword))
            meant = other;
    }
    if (!meant && !nearest.count)
        return false;
    diag_error(parser->diags, DIAG_SYNTAX, span, "there is no '%s'%s", word,
               meant ? arena_format(ARENA, "; did you mean '%s'?", meant) : nearest_text(ARENA, &nearest));
    if (meant || nearest_only(&nearest))
        diag_fix(parser->diags, span, "%s", meant ? meant : nearest_only(&nearest));
    return true;
}

/* A misspelt keyword is a name: an error by itself where none can stand, else only together with what follows it. */
static bool report_misspelt(struct parser *parser, yysymbol_kind_t found, struct span span,
                            const struct expectation *expected)
{
    static const bool of_statements[YYNTOKENS] = {
        [YYSYMBOL_BATCH] = true, [YYSYMBOL_DTYPE] = true,  [YYSYMBOL_WEIGHTS] = true, [YYSYMBOL_INPUT] = true,
        [YYSYMBOL_OUTPUT] = true, [YYSYMBOL_RETURN] = true, [YYSYMBOL_REPEAT] = true,  [YYSYMBOL_BLOCK] = true,
        [YYSYMBOL_CONST] = true,
    };
    if (found == YYSYMBOL_NAME && !expected->can[YYSYMBOL_NAME] && report_keyword(parser, span, expected->can))
        return true;
    bool second = parser->statement == TOKEN_NAME && parser->last_end == parser->statement_span.end;
    return second && (found == YYSYMBOL_NAME || found == YYSYMBOL_NUMBER || found == YYSYMBOL_STRING) &&
           report_keyword(parser, parser->statement_span, of_statements);
}

bool parser_names(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* "model my-net {": the name behind the word that begins the statement, up to the '-', and what follows it. */
static bool report_dash(struct parser *parser, yysymbol_kind_t found, struct span span,
                        const struct expectation *expected)
{
    const char *source = parser->spec->source->text;
    const int in = parser->statement;
    struct span name = {parser->statement_span.end, span.begin};
    name.begin += (uint32_t)strspn(source + name.begin, " \t");
    if (found != YYSYMBOL_MINUS || expected->can[YYSYMBOL_MINUS] || !parser_names(source[span.end]) ||
        (in != TOKEN_MODEL && in != TOKEN_BLOCK && in != TOKEN_INPUT && in != TOKEN_OUTPUT))
        return false;
    for (uint32_t i = name.begin; i < name.end; i++) {
        if (!parser_names(source[i]))
            return false;
    }
    while (parser_names(source[name.end]) || source[name.end] == '-')
        name.end++;
    char *mended = arena_copy(ARENA, source + name.begin, name.end - name.begin);
    for (char *c = mended; *c; c++)
        *c = *c == '-' ? '_' : *c;
    diag_error(parser->diags, DIAG_SYNTAX, name, "names are made of A-Z, a-z, 0-9 and _: %s", mended);
    if (in == TOKEN_MODEL)          /* which nothing else names */
        diag_fix(parser->diags, name, "%s", mended);
    return true;
}

/* "budget 1 MiB;" */
static bool report_budget(struct parser *parser, yysymbol_kind_t found)
{
    if ((found != YYSYMBOL_NUMBER && found != YYSYMBOL_NAME) || parser->statement != TOKEN_NAME ||
        parser->last_end != parser->statement_span.end || !diag_reads(parser->diags, parser->statement_span, "budget"))
        return false;
    diag_error(parser->diags, DIAG_SYNTAX, parser->statement_span, "%s", a_budget);
    return true;
}

/* The one token that could come here, or a parenthesis that the end of the statement leaves open; else
 * YYSYMBOL_YYEMPTY. */
static yysymbol_kind_t find_missing(yysymbol_kind_t found, const struct expectation *expected)
{
    yysymbol_kind_t only = YYSYMBOL_YYEMPTY;
    int count = expected->phrase_count;
    for (int i = YYSYMBOL_YYEOF + 1; i < YYNTOKENS; i++) {
        only = expected->of[i] ? (yysymbol_kind_t)i : only;
        count += expected->of[i];
    }
    if (count == 1 && only > YYSYMBOL_STRING)
        return only;
    return found == YYSYMBOL_SEMICOLON && !expected->phrase_count && expected->of[YYSYMBOL_CLOSE_PAREN]
        ? YYSYMBOL_CLOSE_PAREN : YYSYMBOL_YYEMPTY;
}

static int yyreport_syntax_error(const yypcontext_t *context, struct parser *parser, void *scanner)
{
    (void)scanner;
    yysymbol_kind_t symbol = yypcontext_token(context);
    struct span span = *yypcontext_location(context);
    struct expectation expected = find_expectation(context);
    const char *found = symbol == YYSYMBOL_YYEOF ? yysymbol_name(symbol) : token_text(parser, span);
    const char *list = expectation_text(parser->arena, &expected), *hint = find_hint(parser, symbol, &expected);
    const char *why = is_misused(parser, symbol, span, &expected) ? ": the word is reserved" : "";
    bool closes = expected.of[YYSYMBOL_SEMICOLON] || expected.of[YYSYMBOL_CLOSE_PAREN] ||
                  expected.of[YYSYMBOL_CLOSE_BRACKET];
    if (report_dash(parser, symbol, span, &expected) || report_budget(parser, symbol) ||
        report_misspelt(parser, symbol, span, &expected))
        return 0;
    if (closes && !expected.phrase_count && !hint)      /* what is missing belongs behind the token before */
        span = (struct span){parser->last_end, parser->last_end};
    if (hint)
        diag_error(parser->diags, DIAG_SYNTAX, span, "%s", hint);
    else if (list)
        diag_error(parser->diags, DIAG_SYNTAX, span, "expected %s before %s%s", list, found, why);
    else
        diag_error(parser->diags, DIAG_SYNTAX, span, "unexpected %s%s", found, why);
    yysymbol_kind_t missing = find_missing(symbol, &expected);
    if (!hint && !*why && missing != YYSYMBOL_YYEMPTY)
        diag_fix(parser->diags, (struct span){span.begin, span.begin},
                 closes || missing == YYSYMBOL_CLOSE_BRACE ? "%s" : "%s ", yysymbol_name(missing));
    return 0;
}

/* ---- The whole source ---- */

/* The first byte of each wrong kind is reported: behind it the file is likely no text at all. */
static bool check_bytes(struct diags *diags, const struct source *source)
{
    bool sound = true;
    const char *nul = memchr(source->text, 0, source->length);
    if (nul) {
        uint32_t at = (uint32_t)(nul - source->text);
        diag_error(diags, DIAG_NUL_BYTE, (struct span){at, at + 1}, "a NUL byte in the source");
        sound = false;
    }
    uint32_t character;
    for (size_t at = 0, used; at < source->length; at += used) {
        used = utf8_decode(source->text + at, source->length - at, &character);
        if (!used) {
            diag_error(diags, DIAG_NOT_UTF8, (struct span){(uint32_t)at, (uint32_t)at + 1},
                       "the byte 0x%02x is not UTF-8", (unsigned char)source->text[at]);
            return false;
        }
    }
    return sound;
}

bool parser_scanner(struct parser *parser, const struct source *source, void **scanner)
{
    if (yylex_init_extra(parser, scanner)) {
        diag_environment(parser->diags, NULL, "out of memory");
        return false;
    }
    static const char mark[] = "\xef\xbb\xbf";
    if (source->length >= 3 && !memcmp(source->text, mark, 3))
        parser->position = 3;
    yy_scan_bytes(source->text + parser->position, (int)(source->length - parser->position), *scanner);
    return true;
}

static bool parse_tokens(struct parser *parser, const struct source *source)
{
    yyscan_t scanner;
    if (!parser_scanner(parser, source, &scanner))
        return false;
    bool sound = yyparse(parser, scanner) == 0;
    yylex_destroy(scanner);
    return sound && diags_status(parser->diags) == EXIT_DONE;
}

struct spec *parse_spec(struct arena *arena, struct diags *diags, const struct source *source)
{
    assert(source->length < INT_MAX);   /* a scanner counts bytes in an int; files are kept much smaller */
    if (!check_bytes(diags, source))
        return NULL;
    struct parser parser = {.arena = arena, .diags = diags, .spec = ARENA_NEW(arena, struct spec),
                            .at_statement = true};
    parser.spec->source = source;
    return parse_tokens(&parser, source) ? parser.spec : NULL;
}
