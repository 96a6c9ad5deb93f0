/* For a test that is linked with interpose.c: which call fails, and what the program holds. */
#ifndef TESTS_FAULTS_INTERPOSE_H
#define TESTS_FAULTS_INTERPOSE_H

/* The call of this number from now on fails; 0: none, they are counted. `which`: as FAULT_KIND, or NULL. */
void fault_arm(const char *which, long number);
long fault_calls(void);             /* of this kind since */

/* Blocks of memory that the program's own code took and has not freed; files that it has open; children that it has not
 * waited for; threads. */
struct held {
    long blocks, files, children, threads;
};
struct held fault_held(void);

#endif
