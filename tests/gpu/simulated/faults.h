/* Calls of the simulated device that fail, one at a time, and what it holds for its user. In C, for tests that are
 * linked with it; a program is told by its environment:
 *   MLP_SIMULATED_FAIL="AT MANNER"  as simulated_fail
 *   MLP_SIMULATED_CALLS=FILE        gets the number of calls that could fail, the name of the one that did or "-", and
 *                                   how many came after it that neither give back nor wait, as those of a close do
 * A call that gives something back fails as CUDA's do: it gives it back and returns the error of something earlier. */
#ifndef SIMULATED_FAULTS_H
#define SIMULATED_FAULTS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum simulated_manner {
    SIMULATED_ONCE,                 /* the call fails */
    SIMULATED_STICKY,               /* and each later one, as after a kernel has read where it may not */
    SIMULATED_LATE,                 /* of calls that give the device work: the work is not done, and whoever next waits
                                       for the device is told */
    SIMULATED_LATE_STICKY,
    SIMULATED_MANNERS
} simulated_manner;

extern const char *const simulated_manner_names[SIMULATED_MANNERS];

/* The call of this number from now on, from 1, of those that can fail in this manner; 0: none. The device is whole. */
void simulated_fail(long at, simulated_manner manner);
long simulated_calls(void);         /* that could have failed since */
const char *simulated_failed(void); /* the call that did; NULL: none so far */
int simulated_current_device(void);
int simulated_objects(void);        /* memory, streams, events, graphs, handles: made and not given back */

#ifdef __cplusplus
}
#endif

#endif
