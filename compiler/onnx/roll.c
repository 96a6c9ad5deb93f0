/* Statements as assignments. */
#include "name.h"
#include "statement.h"

void statements_print(struct page *page, const statement_list *list, struct names *names)
{
    for (size_t i = 0; i < list->count; i++) {
        struct statement *statement = list->at[i];
        const char *text = statement_text(page->arena, statement);
        if (!statement->term->name)
            statement->term->name = name_value(names, page->arena, statement->term->hint);
        page_line(page, arena_format(page->arena, "%s = %s;", statement->term->name, text));
    }
    if (list->count)
        page_add(page, "\n");
}
