/*  options.h -- the options of Slurm's commands that are taken here, one table for each command: the commands and their
 *  help read the same. Pure. */
#ifndef HELIO_CLIENT_SLURM_OPTIONS_H
#define HELIO_CLIENT_SLURM_OPTIONS_H

#include "federation/arguments/option.h"

/*  Each row: ID, name, letter, value, doc. */
#define HELIO_SQUEUE_OPTIONS(X)                                                        \
    X(ACCOUNT, "account", 'A', "LIST", "Only jobs of these tenants")                   \
    X(ALL, "all", 'a', NULL, "No effect")                                              \
    X(ARRAY, "array", 'r', NULL, "No effect: each task has a line")                    \
    X(CLUSTERS, "clusters", 'M', "LIST", "Only jobs at these sites")                   \
    X(FORMAT, "format", 'o', "FORMAT", "Columns by letters, such as '%i %j %T'")       \
    X(FORMAT_NAMES, "Format", 'O', "LIST", "Columns by names, such as JobID:30,State") \
    X(HELP, "help", 0, NULL, "Print this help")                                        \
    X(HEADER, "noheader", 'h', NULL, "No header")                                      \
    X(JOBS, "jobs", 'j', "LIST", "Only these ids")                                     \
    X(LONG, "long", 'l', NULL, "More columns")                                         \
    X(ME, "me", 0, NULL, "Only your own jobs")                                         \
    X(NAME, "name", 'n', "LIST", "Only jobs of these names")                           \
    X(PARTITION, "partition", 'p', "LIST", "Only jobs in these pools")                 \
    X(QOS, "qos", 'q', "LIST", "Only jobs of these queues")                            \
    X(SORT, "sort", 'S', "LIST", "No effect: newest first")                            \
    X(START, "start", 0, NULL, "Expected starts of pending jobs")                      \
    X(STATES, "states", 't', "LIST", "Only jobs in these states")                      \
    X(USER, "user", 'u', "LIST", "Only jobs of these users")

#define HELIO_SACCT_OPTIONS(X)                                                              \
    X(ACCOUNTS, "accounts", 'A', "LIST", "Only jobs of these tenants")                      \
    X(ALL_CLUSTERS, "allclusters", 'L', NULL, "No effect")                                  \
    X(ALL_USERS, "allusers", 'a', NULL, "Jobs of all users")                                \
    X(ALLOCATIONS, "allocations", 'X', NULL, "No effect: jobs have no steps")               \
    X(CLUSTERS, "clusters", 'M', "LIST", "Only jobs at these sites")                        \
    X(DELIMITER, "delimiter", 0, "TEXT", "Its first character separates columns of -p, -P") \
    X(DUPLICATES, "duplicates", 'D', NULL, "No effect")                                     \
    X(END, "endtime", 'E', "TIME", "Only jobs submitted before")                            \
    X(FORMAT, "format", 'o', "LIST", "Columns, such as JobID,State,ExitCode%10")            \
    X(HELP, "help", 'h', NULL, "Print this help")                                           \
    X(FIELDS, "helpformat", 'e', NULL, "List the names of columns")                         \
    X(JOBS, "jobs", 'j', "LIST", "Only these ids")                                          \
    X(NAME, "name", 0, "LIST", "Only jobs of these names")                                  \
    X(HEADER, "noheader", 'n', NULL, "No header")                                           \
    X(PARSABLE, "parsable", 'p', NULL, "Columns separated and ended by '|'")                \
    X(PARSABLE2, "parsable2", 'P', NULL, "Columns separated by '|'")                        \
    X(QOS, "qos", 'q', "LIST", "Only jobs of these queues")                                 \
    X(START, "starttime", 'S', "TIME", "Only jobs submitted since then (default: today)")   \
    X(STATE, "state", 's', "LIST", "Only jobs in these states")                             \
    X(USER, "user", 'u', "LIST", "Only jobs of these users (default: yours)")

#define HELIO_SCANCEL_OPTIONS(X)                                                   \
    X(ACCOUNT, "account", 'A', "LIST", "Only jobs of these tenants")               \
    X(BATCH, "batch", 'b', NULL, "With --signal: to the script alone")             \
    X(CLUSTERS, "clusters", 'M', "LIST", "Only jobs at these sites")               \
    X(FULL, "full", 'f', NULL, "With --signal: to all processes")                  \
    X(HELP, "help", 0, NULL, "Print this help")                                    \
    X(HURRY, "hurry", 'H', NULL, "No effect")                                      \
    X(JOB_NAME, "jobname", 0, "LIST", "The same as --name")                        \
    X(ME, "me", 0, NULL, "Only your own jobs")                                     \
    X(NAME, "name", 'n', "LIST", "Only jobs of these names")                       \
    X(PARTITION, "partition", 'p', "LIST", "Only jobs in these pools")             \
    X(QOS, "qos", 'q', "LIST", "Only jobs of these queues")                        \
    X(QUIET, "quiet", 'Q', NULL, "Unknown ids are no error")                       \
    X(SIGNAL, "signal", 's', "SIGNAL", "Send running jobs a signal, such as USR1") \
    X(STATE, "state", 't', "STATE", "Only jobs in this state")                     \
    X(USER, "user", 'u', "LIST", "Only jobs of these users")                       \
    X(VERBOSE, "verbose", 'v', NULL, "Say what is done")

#define HELIO_SCONTROL_OPTIONS(X)                 \
    X(DETAILS, "details", 'd', NULL, "No effect") \
    X(HELP, "help", 'h', NULL, "Print this help") \
    X(ONE_LINE, "oneliner", 'o', NULL, "One line a job")

#define HELIO_SLURM_ENUMERATORS(command, TABLE) enum { TABLE(HELIO_SLURM_ENUMERATOR_##command) HELIO_##command##_COUNT }
#define HELIO_SLURM_ENUMERATOR_SQUEUE(id, ...) HELIO_SQUEUE_##id,
#define HELIO_SLURM_ENUMERATOR_SACCT(id, ...) HELIO_SACCT_##id,
#define HELIO_SLURM_ENUMERATOR_SCANCEL(id, ...) HELIO_SCANCEL_##id,
#define HELIO_SLURM_ENUMERATOR_SCONTROL(id, ...) HELIO_SCONTROL_##id,
HELIO_SLURM_ENUMERATORS(SQUEUE, HELIO_SQUEUE_OPTIONS);
HELIO_SLURM_ENUMERATORS(SACCT, HELIO_SACCT_OPTIONS);
HELIO_SLURM_ENUMERATORS(SCANCEL, HELIO_SCANCEL_OPTIONS);
HELIO_SLURM_ENUMERATORS(SCONTROL, HELIO_SCONTROL_OPTIONS);

extern const helio_option_table_t helio_squeue_options, helio_sacct_options, helio_scancel_options,
    helio_scontrol_options;

#endif
