/* Files and folders that must not outlive mlpc, whatever ends it: its work, an error, want of memory, Ctrl-C. */
#ifndef MLPC_LEFTOVERS_H
#define MLPC_LEFTOVERS_H

#include "arena.h"

/* From now on `path` is removed at the end. To be said before it is made, so that nothing comes between; its text may
 * still change (mkstemp). What has been renamed by then is not missed. */
void leftover(struct arena *arena, const char *path);
/* Removes them all, the last one first. At exit this is done by itself, but after their arena is freed too late. */
void leftovers_remove(void);

#endif
