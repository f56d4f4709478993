/*  commands.h -- every command of helio: the table, and the handlers by the file that holds them. A new command is a
 *  row in commands.c and a handler in the file of its group. */
#ifndef HELIO_CLIENT_COMMANDS_H
#define HELIO_CLIENT_COMMANDS_H

#include "client/invocation/command.h"

extern const helio_command_table_t helio_commands;

/*  ---- handlers, by file ---- */
/*  run.c, wait.c, logs.c */
int helio_cmd_run(helio_client_t *client);
int helio_cmd_wait(helio_client_t *client);
int helio_cmd_logs(helio_client_t *client);
/*  exec.c, port_forward.c, interactive.c */
int helio_cmd_exec(helio_client_t *client);
int helio_cmd_shell(helio_client_t *client);
int helio_cmd_port_forward(helio_client_t *client);
int helio_run_interactive(helio_client_t *client); /* `run` with --interactive */
int helio_cmd_salloc(helio_client_t *client);
int helio_cmd_srun(helio_client_t *client);
/*  submit.c */
int helio_cmd_submit(helio_client_t *client);
/*  sbatch.c */
int helio_cmd_sbatch(helio_client_t *client);
int helio_cmd_convert(helio_client_t *client);
int helio_sbatch_take_options(helio_client_t *client, helio_command_line_t *arguments);
/*  squeue.c, scancel.c */
int helio_cmd_squeue(helio_client_t *client);
int helio_cmd_sacct(helio_client_t *client);
int helio_cmd_scancel(helio_client_t *client);
int helio_cmd_scontrol(helio_client_t *client);
/*  slurm_jobs.c: whether the words of such a command ask for its help. */
bool helio_slurm_asks_for_help(helio_client_t *client);
/*  jobs.c */
int helio_cmd_ls(helio_client_t *client);
int helio_cmd_show(helio_client_t *client);
int helio_cmd_cancel(helio_client_t *client);
int helio_cmd_hold(helio_client_t *client);
int helio_cmd_requeue(helio_client_t *client);
int helio_cmd_release(helio_client_t *client);
/*  edit.c */
int helio_cmd_edit(helio_client_t *client);
/*  Prints the edits of a job, if it has any, as a table below the job's own lines. */
helio_rc helio_edits_print(const helio_client_t *client, const json_t *job);
/*  plan.c, explain.c */
int helio_cmd_plan(helio_client_t *client);
int helio_cmd_explain(helio_client_t *client);
/*  top.c, events.c, report.c, forecast.c */
int helio_cmd_top(helio_client_t *client);
int helio_cmd_events(helio_client_t *client);
int helio_cmd_report(helio_client_t *client);
int helio_cmd_forecast(helio_client_t *client);
/*  sites.c */
int helio_cmd_sites(helio_client_t *client);
int helio_cmd_gpus(helio_client_t *client);
/*  desired.c */
int helio_cmd_desired(helio_client_t *client);
int helio_cmd_drain(helio_client_t *client);
int helio_cmd_undrain(helio_client_t *client);
int helio_cmd_attest(helio_client_t *client);
/*  queues.c */
int helio_cmd_queues(helio_client_t *client);
int helio_cmd_queues_set(helio_client_t *client);
int helio_cmd_queues_schedule(helio_client_t *client);
int helio_cmd_queues_rm(helio_client_t *client);
/*  overflow.c */
int helio_cmd_overflow_list(helio_client_t *client);
int helio_cmd_overflow_set(helio_client_t *client);
int helio_cmd_overflow_rm(helio_client_t *client);
/*  tenants.c, quota.c */
int helio_cmd_tenants(helio_client_t *client);
int helio_cmd_tenants_set(helio_client_t *client);
int helio_cmd_quota(helio_client_t *client);
int helio_cmd_quota_set(helio_client_t *client);
/*  data.c, links.c */
int helio_cmd_data_list(helio_client_t *client);
int helio_cmd_data_set(helio_client_t *client);
int helio_cmd_data_rm(helio_client_t *client);
int helio_cmd_links_list(helio_client_t *client);
int helio_cmd_links_set(helio_client_t *client);
int helio_cmd_links_rm(helio_client_t *client);
/*  curtail.c */
int helio_cmd_curtail(helio_client_t *client);
int helio_cmd_uncurtail(helio_client_t *client);
int helio_cmd_curtailments(helio_client_t *client);
/*  keys.c, token.c, user.c */
int helio_cmd_keys_add(helio_client_t *client);
int helio_cmd_keys_ls(helio_client_t *client);
int helio_cmd_keys_revoke(helio_client_t *client);
int helio_cmd_token_add(helio_client_t *client);
int helio_cmd_token_ls(helio_client_t *client);
int helio_cmd_token_revoke(helio_client_t *client);
int helio_cmd_user_ls(helio_client_t *client);
int helio_cmd_user_disable(helio_client_t *client);
int helio_cmd_user_enable(helio_client_t *client);
/*  simulate.c, rehearse.c */
int helio_cmd_simulate(helio_client_t *client);
int helio_cmd_rehearse(helio_client_t *client);
/*  audit.c, doctor.c */
int helio_cmd_audit(helio_client_t *client);
int helio_cmd_audit_anchor(helio_client_t *client);
int helio_cmd_audit_verify(helio_client_t *client);
int helio_cmd_doctor(helio_client_t *client);
/*  help.c */
int helio_cmd_help(helio_client_t *client);
int helio_cmd_completion(helio_client_t *client);
int helio_cmd_version(helio_client_t *client);

#endif
