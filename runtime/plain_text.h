/* Words of the command line and names of files, in messages. */
#ifndef MLP_PLAIN_TEXT_H
#define MLP_PLAIN_TEXT_H

#include <stdio.h>

/* Text in UTF-8 on one line: control characters, which could steer a terminal, and bytes that are no character are
 * spelt out, as \x1b. */
void mlp_print_plain(FILE *to, const char *text);

#endif
