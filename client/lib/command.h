/*  command.h -- the command table: dispatch, help, manual page and completion all read it, so they cannot
 * differ. */
#ifndef HELIO_CLIENT_COMMAND_H
#define HELIO_CLIENT_COMMAND_H

#include "client/lib/client.h"

typedef enum helio_needs {
    HELIO_NEEDS_NOTHING,
    HELIO_NEEDS_SETTINGS, /* they are read; an absent broker is fine */
    HELIO_NEEDS_BROKER
} helio_needs_t;

/*  What a command's words are, for completion. */
typedef enum helio_words {
    HELIO_WORDS_NONE,
    HELIO_WORDS_FILES,
    HELIO_WORDS_BATCH, /* files, by the rules of another program: helio_sbatch_take_options reads them first
                        */
    HELIO_WORDS_JOBS,
    HELIO_WORDS_SITES,
    HELIO_WORDS_COMMANDS,
    HELIO_WORDS_SHELLS
} helio_words_t;

struct helio_command {
    const char *name;        /* "ls"; "token add" for two words */
    const char *synopsis;    /* its words: "ID…" */
    const char *summary;     /* one line, no full stop */
    const char *doc;         /* paragraphs, parted by empty lines */
    const char *example;     /* one command line, "" = none */
    helio_options_t options; /* besides HELIO_OPTIONS_EVERYWHERE */
    uint32_t least, most;    /* words */
    helio_needs_t needs;
    helio_words_t words;
    int (*handler)(helio_client_t *client); /* returns the exit code */
};

const helio_command_t *helio_commands(size_t *ret_count);
/*  The command that the first words name, and how many words that took; NULL when none. */
const helio_command_t *helio_command_find(const char *const *words, uint32_t count, uint32_t *ret_taken);
/*  Whether the words behind this first one follow another program's rules. */
bool helio_command_has_own_words(const char *word);
/*  The nearest known name, NULL = none is near. */
const char *helio_command_suggest(const char *word);
/*  Whether this is the first word of two-word commands ("token"). */
bool helio_command_is_group(const char *word);

/*  ---- help.c, completion.c ---- */
void helio_help_overview(helio_buffer_t *out);
void helio_help_command(const helio_command_t *command, helio_buffer_t *out);
void helio_help_group(const char *word, helio_buffer_t *out);
void helio_help_roff(helio_buffer_t *out);
/*  docs/reference/helio.md */
void helio_help_page(helio_buffer_t *out); /* help_page.c */
/*  False for a shell it does not know. */
bool helio_completion(const char *shell, helio_buffer_t *out);

/*  ---- handlers, by file ---- */
int helio_cmd_submit(helio_client_t *client); /* submit.c */
int helio_cmd_sbatch(helio_client_t *client); /* sbatch.c */
int helio_cmd_convert(helio_client_t *client);
int helio_sbatch_take_options(helio_client_t *client, helio_arguments_t *arguments);
int helio_cmd_ls(helio_client_t *client); /* jobs.c */
int helio_cmd_show(helio_client_t *client);
int helio_cmd_cancel(helio_client_t *client);
int helio_cmd_release(helio_client_t *client);
int helio_cmd_top(helio_client_t *client);
int helio_cmd_tenants(helio_client_t *client); /* quota.c */
int helio_cmd_tenants_set(helio_client_t *client);
int helio_cmd_edit(helio_client_t *client); /* edit.c */
/*  What was edited of a job, if anything was: a table below the job's own lines. */
helio_rc helio_edits_print(const helio_client_t *client, const json_t *job);
int helio_cmd_plan(helio_client_t *client);    /* plan.c */
int helio_cmd_explain(helio_client_t *client); /* explain.c */
int helio_cmd_run(helio_client_t *client);     /* wait.c */
int helio_cmd_wait(helio_client_t *client);
int helio_cmd_logs(helio_client_t *client);
int helio_cmd_events(helio_client_t *client); /* watch.c */
int helio_cmd_sites(helio_client_t *client);  /* fleet.c */
int helio_cmd_gpus(helio_client_t *client);
int helio_cmd_forecast(helio_client_t *client); /* forecast.c */
int helio_cmd_queues(helio_client_t *client);   /* queues.c */
int helio_cmd_queues_set(helio_client_t *client);
int helio_cmd_queues_schedule(helio_client_t *client);
int helio_cmd_queues_rm(helio_client_t *client);
int helio_cmd_overflow_list(helio_client_t *client); /* overflow.c */
int helio_cmd_overflow_set(helio_client_t *client);
int helio_cmd_overflow_rm(helio_client_t *client);
int helio_cmd_quota(helio_client_t *client); /* quota.c */
int helio_cmd_quota_set(helio_client_t *client);
int helio_cmd_data_list(helio_client_t *client); /* data.c */
int helio_cmd_data_set(helio_client_t *client);
int helio_cmd_data_rm(helio_client_t *client);
int helio_cmd_links_list(helio_client_t *client);
int helio_cmd_links_set(helio_client_t *client);
int helio_cmd_links_rm(helio_client_t *client);
int helio_cmd_report(helio_client_t *client); /* fleet.c */
int helio_cmd_drain(helio_client_t *client);
int helio_cmd_undrain(helio_client_t *client);
int helio_cmd_attest(helio_client_t *client);
int helio_cmd_keys_add(helio_client_t *client); /* admin.c */
int helio_cmd_keys_new(helio_client_t *client);
int helio_cmd_token_add(helio_client_t *client);
int helio_cmd_token_ls(helio_client_t *client);
int helio_cmd_token_revoke(helio_client_t *client);
int helio_cmd_user_ls(helio_client_t *client);
int helio_cmd_user_disable(helio_client_t *client);
int helio_cmd_user_enable(helio_client_t *client);
int helio_cmd_audit(helio_client_t *client);
int helio_cmd_audit_verify(helio_client_t *client);
int helio_cmd_doctor(helio_client_t *client); /* doctor.c */
int helio_cmd_help(helio_client_t *client);   /* self.c */
int helio_cmd_completion(helio_client_t *client);
int helio_cmd_version(helio_client_t *client);

#endif
