/*  commands.h -- what `helio-broker COMMAND` does. Each command prints its result, and one line for each error. It
 *  returns the exit code: 0, 1 (failure) or 2 (usage). */
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

/*  What to do about an error of the database; "" = it is none, or nothing is known. */
const char *helio_database_help(const helio_error_t *err);
/*  Prints "helio-broker: error: …" on standard error. Returns the exit code of a failure. */
int helio_print_error(const helio_error_t *err);
/*  Prints "usage: helio-broker LINE" on standard error. Returns the exit code of wrong usage. */
int helio_usage(const char *line);
/*  Whether NAME is allowed in "… add NAME": it becomes a label of metrics and part of audit lines. */
bool helio_is_name(const char *name);
/*  Prints "'NAME' cannot be the name of a WHAT". Returns the exit code of a failure. */
int helio_bad_name(const char *what, const char *name);

#endif
