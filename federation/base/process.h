/*  process.h -- this process towards the rest of its machine. For main files and shells. */
#ifndef HELIO_BASE_PROCESS_H
#define HELIO_BASE_PROCESS_H

/*  No core dump of this process, and no debugger of its own user, shows the keys and tokens in its memory. Programs
 *  that it starts are not affected. Does nothing in a build with a sanitizer, which looks at its own memory in that
 *  way. */
void helio_process_hide_memory(void);

#endif
