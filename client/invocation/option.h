/*  option.h -- the options of the command line: one table for all commands, so that an option means the same
 *  everywhere. */
#ifndef HELIO_CLIENT_OPTION_H
#define HELIO_CLIENT_OPTION_H

#include "federation/arguments/command_line.h"

/*  name, long form, letter (0 = none), value (NULL = a switch), choices separated by spaces (NULL = any), doc
 */
#define HELIO_OPTION_TABLE(X)                                                                                                  \
    X(BROKER, "broker", 0, "URL", NULL,                                                                                        \
      "URL of the broker, such as https://broker.example; several: separated by commas")                                       \
    X(CONTEXT, "context", 0, "NAME", NULL, "Use this context of the settings files")                                           \
    X(TOKEN_FILE, "token-file", 0, "PATH", NULL, "File with the token; it must be readable only by its owner")                 \
    X(CA_FILE, "ca-file", 0, "PATH", NULL, "Certificates to trust in place of the system's")                                   \
    X(OUTPUT, "output", 'o', "FORMAT", "table wide json jsonl csv name yaml", "Format of the output")                          \
    X(COLOR, "color", 0, "WHEN", "auto always never", "Use of colour; auto: on terminals without NO_COLOR")                    \
    X(UTC, "utc", 0, NULL, NULL, "Times in UTC, also in tables, instead of your own time zone (TZ)")                           \
    X(QUIET, "quiet", 'q', NULL, NULL, "Print no progress on standard error")                                                  \
    X(HELP, "help", 'h', NULL, NULL, "Show this help")                                                                         \
    X(YES, "yes", 'y', NULL, NULL, "Do not ask for confirmation")                                                              \
    X(IDEMPOTENCY_KEY, "idempotency-key", 0, "KEY", NULL,                                                                      \
      "Submitting the same jobs again with the same key returns the same ids")                                                 \
    X(TIMEOUT, "timeout", 0, "DURATION", NULL, "Give up after this time (90s, 15m, 6h) and exit with 8")                       \
    X(KEEP_WAITING, "keep-waiting", 0, NULL, NULL, "Wait also while a job is held, until it is released")                      \
    X(FOLLOW, "follow", 'f', NULL, NULL, "Continue with new output as it arrives")                                             \
    X(TAIL, "tail", 0, "N", NULL, "Begin with the last N lines, of the last 256 KiB at most")                                  \
    X(STATE, "state", 's', "STATES", NULL, "Only jobs in these states: running,queued")                                        \
    X(QUEUE, "queue", 0, "QUEUE", NULL, "Name of the queue; `ls` shows only its jobs, `edit` moves jobs to it")                \
    X(NAME, "name", 'n', "NAME", NULL, "Name of the new job; of filters: only jobs with it")                                   \
    X(MINE, "mine", 'm', NULL, NULL, "Only your own jobs")                                                                     \
    X(SITE, "site", 0, "SITE", NULL, "Only jobs that are, or were last, at this site")                                         \
    X(SINCE, "since", 0, "TIME", NULL,                                                                                         \
      "Only what was submitted since then: 2026-11-22, 2026-11-22T07:00, today, or 24h or 7d ago")                             \
    X(UNTIL, "until", 0, "TIME", NULL, "Only what was submitted before then, written as for --since")                          \
    X(LABEL, "label", 0, "KEY=VALUE", NULL, "Label of jobs; repeat it for several. Filters also take KEY alone")               \
    X(SORT, "sort", 0, "KEY", "submitted started finished gpus cost energy carbon",                                            \
      "Order, the latest or largest first")                                                                                    \
    X(TASKS, "tasks", 0, NULL, NULL, "A row for each task of an array")                                                        \
    X(WATCH, "watch", 'w', NULL, NULL, "Show the list again and again, until interrupted")                                     \
    X(LIMIT, "limit", 'l', "N", NULL, "Print at most N rows (default: 100)")                                                   \
    X(ALL, "all", 'a', NULL, NULL, "Print all rows")                                                                           \
    X(ANCHOR, "anchor", 0, "ANCHOR", NULL, "A line that `helio audit anchor` printed, or a file of such lines")                \
    X(REASON, "reason", 'r', "TEXT", NULL, "The reason; other operators and the audit show it")                                \
    X(AGAIN, "again", 0, NULL, NULL, "Admit a key that was revoked")                                                           \
    X(DEAD, "dead", 0, NULL, NULL, "Confirm that no attempt runs at the site any more")                                        \
    X(AFTER, "after", 0, "SEQ", NULL, "Start after the event with this number")                                                \
    X(EPOCH, "epoch", 0, "N", NULL, "Log of this attempt (default: the latest)")                                               \
    X(TENANT, "tenant", 0, "NAME", NULL, "Name of the tenant")                                                                 \
    X(USER, "user", 0, "NAME", NULL, "Name of the user")                                                                       \
    X(ROLE, "role", 0, "ROLE", "user operator admin", "Role of the token")                                                     \
    X(DAYS, "days", 0, "N", NULL, "The last N days, including today (default: 7)")                                             \
    X(BALANCE, "balance", 0, NULL, NULL, "Compare the accounted energy of sites with their meters")                            \
    X(SIGNAL, "signal", 0, "SIGNAL", "carbon price electricity free pue power reserved", "Only this signal")                   \
    X(HOURS, "hours", 0, "N", NULL, "Number of hours ahead, at most 192 (default: 48)")                                        \
    X(TTL, "ttl", 0, "DURATION", NULL, "How long the token is valid (default: 90d)")                                           \
    X(GUARANTEED, "guaranteed", 0, "GPUS", NULL, "GPUs that the tenant gets before other tenants")                             \
    X(BURST, "burst", 0, "GPUS", NULL,                                                                                         \
      "Maximum number of GPUs that the tenant can hold at once, over all sites; or none")                                      \
    X(WEIGHT, "weight", 0, "NUMBER", NULL, "Share relative to other tenants when GPUs are scarce (default: 1)")                \
    X(BUDGET, "budget", 0, "BUDGET", NULL, "A budget, such as '5000 gpu-h/month', or none; repeat it for several")             \
    X(HOME, "home", 0, "SITE", NULL, "Site where the tenant's jobs would run without a federation, or none")                   \
    X(GBPS, "gbps", 0, "NUMBER", NULL, "Bandwidth of the link in Gbit/s")                                                      \
    X(EGRESS, "egress", 0, "USD", NULL, "Price of a GB sent over the link, in USD (default: 0)")                               \
    X(RTT, "rtt", 0, "MS", NULL, "Round-trip time of the link in milliseconds (default: 0)")                                   \
    X(PRIORITY, "priority", 0, "N", NULL,                                                                                      \
      "Priority, higher first: of a queue within its tier, or of a job among its tenant's jobs in the queue")                  \
    X(TIER, "tier", 0, "TIER", "best-effort standard critical", "Tier of the queue; it decides order and preemption")          \
    X(TIME, "time", 0, "DURATION", NULL, "Time limit: of jobs that set none (default: 24h), or of a waiting job")              \
    X(REGION, "region", 0, "REGION", NULL, "Only at the sites of this region (EU includes EU-…)")                              \
    X(FOR, "for", 0, "DURATION", NULL, "For this long, from now on")                                                           \
    X(CLEAR, "clear", 0, NULL, NULL, "End the priority that --for set")                                                        \
    X(REMOVE, "remove", 0, NULL, NULL, "Remove the rule")                                                                      \
    X(STEP, "step", 0, "STEP", NULL, "Sites of a step: 'cloud,after=30m,max-price=3'; repeat it for each step")                \
    X(GOAL, "goal", 0, "GOAL", "fast cheap balanced green follow-the-sun", "What the placement optimises")                     \
    X(DEADLINE, "deadline", 0, "TIME", NULL, "When the job must be finished, such as 2026-11-22T07:00:00Z, or none")           \
    X(FLEXIBLE, "flexible", 0, "DURATION", NULL, "How long the job can wait for a better hour, or none")                       \
    X(MAX_COST, "max-cost", 0, "MONEY", NULL, "Maximum cost of the job, such as '400 USD', or none")                           \
    X(MAX_CARBON, "max-carbon", 0, "INTENSITY", NULL, "Highest carbon intensity, such as '250 g/kWh', or none")                \
    X(DOWN, "down", 0, "SITE", NULL, "This site goes down, for ever or for a time: SITE or SITE:4h")                           \
    X(PRICE, "price", 0, "SITE:FACTOR", NULL, "The prices of this site, times a factor: lulea:1.5")                            \
    X(CHANGE, "change", 0, "CHANGE", NULL,                                                                                     \
      "drain=SITE, curtail=SITE:SHARE[:DURATION], nodes=SITE/POOL:N, quota=TENANT[/QUEUE]:GPUS, goal=TENANT:GOAL, down=SITE[:" \
      "DURATION] or price=SITE:FACTOR")                                                                                        \
    X(LAST, "last", 0, "DURATION", NULL, "Not what is now, but the jobs that ran in this time: 7d")                            \
    X(NOW, "now", 0, NULL, NULL, "Without grace: end the jobs at once")                                                        \
    X(DRY_RUN, "dry-run", 0, NULL, NULL, "Change nothing: say what would become of the jobs")                                  \
    X(TO, "to", 0, "SHARE", NULL, "Share of the site's GPU power, such as 60%")                                                \
    X(AT, "at", 0, "TIME", NULL, "From this time on, such as 2026-11-22T17:00:00Z (default: now)")                             \
    X(ONCE, "once", 0, NULL, NULL, "Print the screen once and exit")                                                           \
    X(INTERACTIVE, "interactive", 0, NULL, NULL, "Hold the GPUs of a job while you work in it")                                \
    X(GPU, "gpu", 0, "GPUS", NULL, "GPUs of the job, such as H100:2, or any:1; none without it")                               \
    X(TTY, "tty", 't', NULL, NULL, "Give the command a terminal")                                                              \
    X(STDIN, "stdin", 'i', NULL, NULL, "Pass standard input on, also from a terminal")                                         \
    X(NODE, "node", 0, "N", NULL, "Node of a job of several, counted from 0 (default: 0)")                                     \
    X(ADDRESS, "address", 0, "ADDRESS", NULL, "Address to listen at (default: 127.0.0.1)")                                     \
    X(MAN, "man", 0, NULL, NULL, "Print the manual page in roff format")                                                       \
    X(VERSION, "version", 'V', NULL, NULL, "Print the version and exit")

typedef enum helio_option_id {
#define HELIO_OPTION_ENUMERATOR(name, ...) HELIO_OPTION_##name,
    HELIO_OPTION_TABLE(HELIO_OPTION_ENUMERATOR)
#undef HELIO_OPTION_ENUMERATOR
        HELIO_OPTION_COUNT
} helio_option_id_t;

/*  The set with one option. */
#define HELIO_OPTION(name) HELIO_OPTION_BIT(HELIO_OPTION_##name)
/*  Options of every command. */
#define HELIO_OPTIONS_EVERYWHERE                                                                       \
    (HELIO_OPTION(BROKER) | HELIO_OPTION(CONTEXT) | HELIO_OPTION(TOKEN_FILE) | HELIO_OPTION(CA_FILE) | \
     HELIO_OPTION(OUTPUT) | HELIO_OPTION(UTC) | HELIO_OPTION(COLOR) | HELIO_OPTION(QUIET) | HELIO_OPTION(HELP))

extern const helio_option_table_t helio_client_options;

enum { HELIO_OPERANDS_MAX = 4096 };

/*  takes_rest: true for a command whose arguments follow the rules of another program. */
HELIO_MUST_CHECK helio_rc helio_client_options_parse(int argc, char *const *argv,
                                                     bool (*takes_rest)(const char *first_word), helio_arena_t *arena,
                                                     helio_command_line_t *ret_line, helio_error_t *err);

#endif
