/*  help.h -- generates help, manual page, reference pages and completion scripts from the tables. */
#ifndef HELIO_CLIENT_HELP_H
#define HELIO_CLIENT_HELP_H

#include "client/invocation/command.h"

void helio_help_overview(const helio_command_table_t *table, helio_buffer_t *out);
void helio_help_command(const helio_command_t *command, helio_buffer_t *out);
void helio_help_group(const helio_command_table_t *table, const char *word, helio_buffer_t *out);
/*  The manual page helio(1). */
void helio_help_roff(const helio_command_table_t *table, helio_buffer_t *out);
/*  docs/reference/helio.md */
void helio_help_page(const helio_command_table_t *table, helio_buffer_t *out);
/*  docs/reference/config.md */
void helio_settings_page(helio_buffer_t *out);
/*  False for a shell it does not know. */
bool helio_completion(const helio_command_table_t *table, const char *shell, helio_buffer_t *out);

#endif
