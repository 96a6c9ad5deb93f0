/* Standard input, output and error may be closed when a program starts. */
#ifndef MLP_STANDARD_FILES_H
#define MLP_STANDARD_FILES_H

/* Takes their numbers, so that no file opened later gets one and is then printed into. Using them fails as before. */
void mlp_hold_standard_files(void);

#endif
