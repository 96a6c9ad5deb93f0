/* UTF-8, as sources are written in it and terminals show it. */
#ifndef MLPC_UTF8_H
#define MLPC_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes of the character at the start of `text`, or 0 where `length` bytes hold no well-formed one (overlong forms,
 * surrogates and what lies beyond U+10FFFF are not). */
size_t utf8_decode(const char *text, size_t length, uint32_t *character);

/* Cells that a terminal uses: 0 to 2; -1 for what must not reach it raw (controls, direction marks). */
int utf8_cells(uint32_t character);

/* The largest number of bytes up to `length` at which `text` does not break within a character. */
size_t utf8_cut(const char *text, size_t length);

/* Text of the user's, harmless for a terminal: what could steer it is spelt out. */
void utf8_print(FILE *to, const char *text);

#endif
