/* Where a file stands that is to be replaced. */
#ifndef MLP_FOLLOW_LINKS_H
#define MLP_FOLLOW_LINKS_H

/* The path behind all symbolic links, also where nothing is there yet; `path` itself where what is there has no path of
 * its own (a pipe). To be freed; NULL: no memory. */
char *mlp_follow_links(const char *path);

#endif
