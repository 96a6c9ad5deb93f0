/* Files and folders that must not outlive mlpc, whatever ends it: its work, an error, want of memory, Ctrl-C. */
#ifndef MLPC_LEFTOVERS_H
#define MLPC_LEFTOVERS_H

/* From now on `path` is removed at the end, a folder if it is empty then. To be said before it is made, so that nothing
 * comes between. Returns a copy that lives as long as mlpc, and that may be a pattern for mkstemp or mkdtemp, which
 * write into it. What has been renamed by the end is not missed. */
char *leftover(const char *path);

/* At once, also from a signal's handler. */
void leftovers_remove(void);

#endif
