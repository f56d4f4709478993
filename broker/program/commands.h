/*  commands.h -- what `helio-broker COMMAND` does. Each prints its result and one line per error; returns the
 * exit code: 0, 1 (failure) or 2 (usage). */
#ifndef HELIO_BROKER_COMMANDS_H
#define HELIO_BROKER_COMMANDS_H

#include "broker/program/settings.h"

typedef int helio_command_fn(const helio_arguments_t *arguments);

helio_command_fn helio_command_run;
helio_command_fn helio_command_check;
helio_command_fn helio_command_migrate;
helio_command_fn helio_command_keygen;
helio_command_fn helio_command_tenant;
helio_command_fn helio_command_token;
helio_command_fn helio_command_site;
helio_command_fn helio_command_reader;
helio_command_fn helio_command_replay;
helio_command_fn helio_command_restored;
helio_command_fn helio_command_prune;

/*  "helio-broker: error: …" on standard error; the exit code of a failure. */
int helio_print_error(const helio_error_t *err);
int helio_usage(const char *line);
/*  What "x add NAME" may be called: it becomes a label of metrics and part of audit lines. */
bool helio_is_name(const char *name);
/*  "'NAME' cannot be the name of a WHAT": the exit code of a failure. */
int helio_bad_name(const char *what, const char *name);

#endif
