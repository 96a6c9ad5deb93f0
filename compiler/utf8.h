/* UTF-8, as sources are written in it and terminals show it. */
#ifndef MLPC_UTF8_H
#define MLPC_UTF8_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "arena.h"

/* Bytes of the character at the start of `text`, or 0 where `length` bytes hold no well-formed one (overlong forms,
 * surrogates and what lies beyond U+10FFFF are not). */
size_t utf8_decode(const char *text, size_t length, uint32_t *character);

/* Cells that a terminal uses: 0 to 2; -1 for what must not reach it raw (controls, direction marks). */
int utf8_cells(uint32_t character);

/* The largest number of bytes up to `length` at which `text` does not break within a character. */
size_t utf8_cut(const char *text, size_t length);

/* The first character of `text`, of which `left` bytes are left (at least one), as it may be shown anywhere: as it is,
 * or spelt out (\n, \t, \x1b) where it could steer a terminal, or is no character. Returns the bytes in `to`, and in
 * *used those of `text`. */
enum { UTF8_SPELT = 16 };
size_t utf8_spell(const char *text, size_t left, char to[UTF8_SPELT + 1], size_t *used);

/* Text that users or files chose, all of it spelt in this way: every name from a file that is shown goes through one of
 * these. */
void utf8_print(FILE *to, const char *text);
const char *utf8_printable(struct arena *arena, const char *text);
/* The same of a format, as one line. */
void utf8_print_line(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void utf8_print_list(FILE *to, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

#endif
