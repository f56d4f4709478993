/*  program.h -- the `helio` command as a function: it gets everything of the process that it can use, and returns an
 *  exit code. */
#ifndef HELIO_CLIENT_PROGRAM_H
#define HELIO_CLIENT_PROGRAM_H

#include "client/invocation/client.h"

/*  Runs one command line. argv[0] is skipped. Returns the exit code. */
int helio_client_main(int argc, char *const *argv, const helio_client_io_t *io);

#endif
