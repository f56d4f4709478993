/*  commands.c -- the table of all commands. */
#include "client/commands/commands.h"

#include "client/notify/notify.h"
#include "client/slurm/options.h"

#define O(name) HELIO_OPTION(name)
/*  What chooses jobs. */
#define FILTERS \
    (O(STATE) | O(QUEUE) | O(NAME) | O(TENANT) | O(USER) | O(MINE) | O(SITE) | O(SINCE) | O(UNTIL) | O(LABEL))
#define CHOSEN \
    " Options choose among your own jobs, or those of --user; the command says how many they are and asks first, without a terminal it requires --yes."

static const helio_command_t commands[] = {
    {"run", "FILE|-", "Submit one job, follow it and exit with its exit code; or work in one that holds GPUs",
     "Submits the job and follows it: its states go to standard error, its log to standard output. Ends with the "
     "job's own exit code.\n\nThe first Ctrl-C asks whether to cancel, the second cancels the job, and the third leaves at once. "
     "Ctrl-\\ leaves and lets the job run. While the broker cannot be reached, the command waits; the job is not "
     "affected. When the job becomes held, the command exits with 8, because somebody must release the job; "
     "--keep-waiting makes it wait for that.\n\nWith --interactive there is no FILE: the job holds the GPUs of --gpu, and as soon as it "
     "runs, a shell opens in it, or the command after `--` runs there. The job is cancelled when that has ended, at the latest after "
     "--time (8h), and its cost is printed.",
     "helio run train.yaml",
     O(IDEMPOTENCY_KEY) | O(LABEL) | O(TIMEOUT) | O(KEEP_WAITING) | O(INTERACTIVE) | O(GPU) | O(QUEUE) | O(TIME) |
         O(GOAL) | O(NAME),
     0, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_FILES, helio_cmd_run, NULL},
    {"submit", "FILE…|-", "Submit jobs and print their ids",
     "A file holds one job, a YAML stream (---), JSON objects one after another, or {\"jobs\": […]}; `-` reads "
     "standard input. All documents are checked here first: if one is wrong, nothing is sent.\n\nEach submission "
     "carries an idempotency key, so a lost answer never leads to a second job. With a key of your own you can also "
     "repeat the whole command safely.",
     "helio submit -o name sweep.yaml", O(IDEMPOTENCY_KEY) | O(LABEL), 1, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_FILES, helio_cmd_submit, NULL},
    {"plan", "FILE", "Show where a job would run, when, and at what cost",
     "The broker evaluates the job file as it would at submission, and stores nothing. The table has every site, "
     "with start, cost, energy and carbon, or with the reason why the job cannot run there. Exits with 5 if no site "
     "can ever run it, or a job that it depends on has ended otherwise than it needs. `-` reads standard input. csv has a row for each candidate.",
     "helio plan train.yaml", 0, 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_FILES, helio_cmd_plan, NULL},
    {.name = "sbatch",
     .synopsis = "[SBATCH-OPTION…] [SCRIPT [ARGUMENT…]]",
     .summary = "Submit a batch script written for Slurm",
     .doc =
         "Reads the #SBATCH lines of the script by Slurm's rules, the SBATCH_* variables and the options of "
         "sbatch, and prints `Submitted batch job ID` (with --parsable only the id). Without SCRIPT it reads the "
         "script from standard input.\n\n#HELIO lines of the script hold keys of a job file, such as `#HELIO "
         "placement: {goal: green}`. Options of helio itself go before `sbatch`; --broker, --context, "
         "--token-file, --ca-file, --color, --idempotency-key and --label may also follow it. docs/sites/sbatch.md lists "
         "what each sbatch option becomes.",
     .example = "helio sbatch --gres=gpu:2 train.sh --epochs 3",
     .options = O(IDEMPOTENCY_KEY) | O(LABEL),
     .most = HELIO_OPERANDS_MAX,
     .needs = HELIO_NEEDS_BROKER,
     .words = HELIO_OPERANDS_BATCH,
     .handler = helio_cmd_sbatch},
    {.name = "convert",
     .synopsis = "[SBATCH-OPTION…] [SCRIPT [ARGUMENT…]]",
     .summary = "Convert a Slurm batch script to a job file and print it",
     .doc = "Takes the same arguments as `helio sbatch`, sends nothing and needs no broker. --idempotency-key has no "
            "effect.",
     .example = "helio convert train.sh >train.yaml",
     .options = O(IDEMPOTENCY_KEY),
     .most = HELIO_OPERANDS_MAX,
     .words = HELIO_OPERANDS_BATCH,
     .handler = helio_cmd_convert},
    {.name = "salloc",
     .synopsis = "[SBATCH-OPTION…] [COMMAND [ARGUMENT…]]",
     .summary = "Hold resources for a shell or a command, as Slurm's salloc does",
     .doc =
         "Submits a job that holds what the options of sbatch ask for, waits until it runs, and opens a shell in it, or runs COMMAND "
         "there: not on this machine, as Slurm's salloc does. The job is cancelled when that has ended.",
     .example = "helio salloc --gres=gpu:1 -t 1:00:00",
     .options = O(IDEMPOTENCY_KEY),
     .most = HELIO_OPERANDS_MAX,
     .needs = HELIO_NEEDS_BROKER,
     .words = HELIO_OPERANDS_BATCH,
     .handler = helio_cmd_salloc},
    {.name = "srun",
     .synopsis = "[SBATCH-OPTION…] [--pty] COMMAND [ARGUMENT…]",
     .summary = "Run one command with its own resources and wait for it, as Slurm's srun does from outside of a job",
     .doc =
         "As `helio salloc`, but with a command, which gets a terminal with --pty. Standard input is passed on. It runs once, on the first "
         "node: more tasks are for batch scripts (`helio sbatch`), where the cluster's own srun starts them.",
     .example = "helio srun --gres=gpu:1 --pty bash",
     .options = O(IDEMPOTENCY_KEY),
     .most = HELIO_OPERANDS_MAX,
     .needs = HELIO_NEEDS_BROKER,
     .words = HELIO_OPERANDS_BATCH,
     .handler = helio_cmd_srun},
    {.name = "squeue",
     .synopsis = "[OPTION…]",
     .summary = "List jobs that are not over, in the formats of Slurm's squeue",
     .doc =
         "A tenant is Slurm's account, a queue its QOS, a pool its partition, a site its cluster. The letters of -o are i "
         "A F K j u a q P T t r N R D b M l L V S e Q; the names of -O are those of `sacct -e`. Reasons and ids are not "
         "cut.",
     .example = "helio squeue --me -t PENDING -o '%i %j %R'",
     .most = HELIO_OPERANDS_MAX,
     .needs = HELIO_NEEDS_BROKER,
     .words = HELIO_OPERANDS_PROGRAM,
     .handler = helio_cmd_squeue,
     .own = &helio_squeue_options},
    {.name = "sacct",
     .synopsis = "[OPTION…]",
     .summary = "List jobs, also those that are over, in the formats of Slurm's sacct",
     .doc = "Your own jobs that were submitted today; -S and -E set other times of submission, -a shows those of all "
            "users, -j those of the ids alone.",
     .example = "helio sacct -j 4q8r7xyz -P -o JobID,State,ExitCode,Elapsed",
     .most = HELIO_OPERANDS_MAX,
     .needs = HELIO_NEEDS_BROKER,
     .words = HELIO_OPERANDS_PROGRAM,
     .handler = helio_cmd_sacct,
     .own = &helio_sacct_options},
    {.name = "scancel",
     .synopsis = "[OPTION…] [ID…]",
     .summary = "Cancel jobs, with the options of Slurm's scancel",
     .doc =
         "Tasks of an array are ID_3 or ID_[1-3,7]. Options that choose do so among the jobs that are not over. With --signal, running "
         "jobs get that signal: the processes that have a handler for it, or all if none has. KILL without -b and -f cancels, without grace.",
     .example = "helio scancel --me -t PENDING",
     .most = HELIO_OPERANDS_MAX,
     .needs = HELIO_NEEDS_BROKER,
     .words = HELIO_OPERANDS_PROGRAM,
     .handler = helio_cmd_scancel,
     .own = &helio_scancel_options},
    {.name = "scontrol",
     .synopsis = "show job [ID] | hold ID… | release ID… | requeue ID… | update JobId=ID TimeLimit=TIME",
     .summary = "Show, hold, release, requeue or update jobs, as Slurm's scontrol does",
     .doc =
         "Without ID, all jobs that are not over are shown. IDs can also be separated by commas. `update` sets the time limit of "
         "a waiting job, in Slurm's formats, or changes it by +TIME or -TIME.",
     .example = "helio scontrol -o show job 4q8r7xyz",
     .most = HELIO_OPERANDS_MAX,
     .needs = HELIO_NEEDS_BROKER,
     .words = HELIO_OPERANDS_PROGRAM,
     .handler = helio_cmd_scontrol,
     .own = &helio_scontrol_options},
    {"ls", "", "List jobs, newest first",
     "Lists the newest 100 jobs, or as many as --limit says; --all lists every job. Tables show the last 8 characters of a "
     "job id. Every command accepts those. An array has one row, with the number of its tasks in each state; --tasks gives each task a "
     "row.\n\nFilters can be combined. All but --sort submitted sort the newest 10,000 tasks of jobs that --state, --user, --mine or "
     "--label choose, and say so if there are older ones.",
     "helio ls --mine --state running --label team=nlp", FILTERS | O(SORT) | O(TASKS) | O(WATCH) | O(LIMIT) | O(ALL), 0,
     0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_ls, NULL},
    {"show", "ID…", "Show jobs and their history", "", "helio show 4q8r7xyz", 0, 1, HELIO_OPERANDS_MAX,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS, helio_cmd_show, NULL},
    {"explain", "ID", "Explain why a job waits, or why it runs where it does",
     "Shows the state, the reason why the job waits, and its expected start; compares the chosen site with the next "
     "best; lists every site with its figures or the reason why it was rejected; and ends with the job's history. The "
     "figures are those of the decision that placed the job, or of the newest one while it waits. csv has a row for each candidate.",
     "helio explain 4q8r7xyz", 0, 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS, helio_cmd_explain, NULL},
    {"logs", "ID", "Print a job's output",
     "Prints the log of the job's latest attempt, or of the attempt that --epoch names. With -f it continues until "
     "the job is over. --tail skips what came before the last lines.",
     "helio logs -f --tail 20 4q8r7xyz", O(FOLLOW) | O(EPOCH) | O(TAIL), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS,
     helio_cmd_logs, NULL},
    {"exec", "ID -- COMMAND [ARGUMENT…]", "Run a command in a running job",
     "The command runs beside the job's own program, as the job's user, in its folder and with its environment; it exits with the "
     "command's exit code, 128 + n for signal n. Standard input is passed on with -i, or if it is no terminal. Ctrl-C ends the "
     "command. The audit has the first word of the command. A site can forbid this.",
     "helio exec 4q8r7xyz -- nvidia-smi", O(TTY) | O(STDIN) | O(NODE), 2, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_JOBS, helio_cmd_exec, NULL},
    {"shell", "ID", "Open a shell in a running job",
     "The login shell of the job's user, on a terminal. `~.` at the begin of a line leaves it, whatever runs there. A connection that "
     "breaks is opened again; the shell ends with the job, when the site or the leading broker is away, or when it is idle for too long.",
     "helio shell 4q8r7xyz", O(NODE), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS, helio_cmd_shell, NULL},
    {"port-forward", "ID [LOCAL:]PORT…", "Forward local ports to ports of a running job",
     "Listens on this machine, and carries each connection to that port of the job, on which one of its processes must listen: for "
     "notebooks and TensorBoard. `:PORT` takes any free port here. Whoever can connect here reaches the job, so --address should "
     "stay as it is on shared machines. Ctrl-C ends it.",
     "helio port-forward 4q8r7xyz 8888", O(ADDRESS), 2, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS,
     helio_cmd_port_forward, NULL},
    {"wait", "ID…", "Wait for jobs to end and exit with their exit code",
     "Exits with the job's own exit code; of several jobs, with the first code that is not 0, in the order of the "
     "arguments. 124: time limit reached; 130: cancelled; 125: lost. Exits with 8 when --timeout has passed, and "
     "also when every job that is not over is held; with --keep-waiting it waits for their release. While the broker "
     "cannot be reached, the command waits.",
     "helio wait --timeout 6h 4q8r7xyz", O(TIMEOUT) | O(KEEP_WAITING), 1, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_JOBS, helio_cmd_wait, NULL},
    {"cancel", "ID… | FILTER…", "Cancel jobs",
     "A running job first gets its grace time to save its state, one hour at most. --now ends it at once, also if it is being "
     "stopped already. So does an operator who cancels a job again, ten seconds or more after an operator did." CHOSEN,
     "helio cancel 4q8r7xyz", O(NOW) | O(YES) | FILTERS, 0, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS,
     helio_cmd_cancel, NULL},
    {"edit", "ID…", "Change what waiting jobs ask for",
     "Edits jobs that are queued or held. An array is edited as a whole: tasks that are placed already continue "
     "unchanged. Options that are not given leave their values unchanged. --priority, -100 to 100 (0 by default), orders the jobs of one "
     "tenant within a queue; it does not move a job ahead of other tenants' jobs. --flexible counts from the "
     "submission. --time takes a time limit, +30m or -30m to change it by so much, or none for the queue's; of an array, only while "
     "no task is placed. A deadline that no site can meet is refused, as at submission. The submitted document does not "
     "change: `helio show` lists who edited what, and when.",
     "helio edit 4q8r7xyz --goal green --flexible 12h",
     O(PRIORITY) | O(GOAL) | O(DEADLINE) | O(FLEXIBLE) | O(MAX_COST) | O(MAX_CARBON) | O(QUEUE) | O(TIME), 1,
     HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS, helio_cmd_edit, NULL},
    {"hold", "ID… | FILTER…", "Hold waiting jobs: they do not start before they are released",
     "Holds jobs that are not placed yet; of an array, the tasks that are not. What waits for the job waits on. A hold by "
     "an operator is ended by operators only." CHOSEN,
     "helio hold 4q8r7xyz", O(YES) | FILTERS, 0, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS,
     helio_cmd_hold, NULL},
    {"release", "ID… | FILTER…", "Release held jobs, so that they are placed again",
     "Users release what is held by its user (`helio hold`). A job also becomes held when it keeps failing for reasons "
     "that are not its own; `helio explain` shows the failures, and an operator releases it." CHOSEN,
     "helio release 4q8r7xyz", O(YES) | FILTERS, 0, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS,
     helio_cmd_release, NULL},
    {"requeue", "ID…", "Stop running jobs, so that they return to their queue and are placed again",
     "A job first gets its signal and its grace time to save its state, and keeps its place in the queue. From inside a "
     "job, `helio requeue \"$HELIO_JOB_ID\"` needs the address of the broker and a token, for instance as a secret.",
     "helio requeue 4q8r7xyz", 0, 1, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS, helio_cmd_requeue,
     NULL},
    {"sites", "", "List the sites",
     "FREE is what the site may still take; - for a site that is silent or lost, because what is free there now is not "
     "known. JSON and CSV have the last figure that it reported, as gpus_free.",
     "helio sites -o wide", 0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_sites, NULL},
    {"gpus", "", "List GPUs: how many are free, how many exist, and the largest free block", "", "helio gpus", 0, 0, 0,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_gpus, NULL},
    {"desired", "[SITE]", "Show how many GPUs each pool should have, now and in the hours ahead",
     "For whoever scales pools. RUNNING are the GPUs of jobs that are there, WAITING those of the nodes that waiting jobs want "
     "of an elastic pool, PLANNED those of starts that are set for a later time. DESIRED is their sum in whole nodes, at most "
     "what the pool can have. +1H is the same at the next full hour, if all jobs run to their limits; +2-4H to +13-24H are the "
     "most of these hours. JSON has every hour.",
     "helio desired", 0, 0, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_desired, NULL},
    {"forecast", "[SITE]", "Show the sites' forecasts for the hours ahead",
     "One line per series: its value now; the minimum, mean and maximum of the hours ahead; the range of its "
     "quantiles if it has any; the age of the forecast; and one character per hour, or a note that all hours are the "
     "same. The value of `free` for an hour is the minimum over that hour, so GPUs that are reserved during a part "
     "of it do not count; `helio gpus` shows what is free now. On a terminal the characters are blocks; elsewhere, "
     "and with NO_COLOR, they are digits from 0 (minimum) to 9 (maximum), and a full stop means no value. Agents publish 48 "
     "hours, and up to 96 of what a source foretells. -o wide "
     "adds pool, kind, whether the source estimates, and the error of such forecasts over the last seven days, by "
     "hours ahead. json, jsonl and yaml print the series, csv one line per point.",
     "helio forecast lulea --signal carbon --hours 24", O(SIGNAL) | O(HOURS), 0, 1, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_SITES, helio_cmd_forecast, NULL},
    {"queues set", "QUEUE", "Create or change a queue, or change its priority for a limited time",
     "Creates the queue if it does not exist; --priority is then required. Options that are not given leave their values unchanged. --for "
     "sets the priority for that long only, and --region for the sites of that region only; --clear ends it. "
     "Operators only.",
     "helio queues set batch --priority 900 --region EU --for 6h",
     O(PRIORITY) | O(TIER) | O(TIME) | O(REGION) | O(FOR) | O(CLEAR), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_queues_set, NULL},
    {"queues schedule", "QUEUE [HOURS]", "Set the priority of a queue for certain hours of the week",
     "HOURS are days, times and a time zone (UTC by default): 'Mon..Fri 20:00-08:00 Europe/Berlin', 'Sat,Sun "
     "00:00-24:00'. --region limits the rule to the sites of that region. --remove removes the rule with these hours "
     "and this region. Without HOURS the rules of the queue are listed, in order of precedence. Setting rules is for "
     "operators only.",
     "helio queues schedule batch 'Mon..Fri 20:00-08:00 Europe/Berlin' --priority 900",
     O(PRIORITY) | O(REGION) | O(REMOVE), 1, 2, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_queues_schedule,
     NULL},
    {"queues rm", "QUEUE", "Remove a queue that has no unfinished jobs", "Operators only.", "helio queues rm nightly",
     0, 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_queues_rm, NULL},
    {"queues", "", "List the queues",
     "PRIORITY is the priority that applies everywhere now, REGIONS lists the regions with another one.",
     "helio queues", 0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_queues, NULL},
    {"overflow set", "NAME", "Set which further sites jobs may use as their wait grows",
     "Applies to the jobs of --queue, of --tenant, or of that tenant in that queue. Each --step names sites by "
     "patterns. From the second step on it also says how long a job waits before the step opens (after=10m), and "
     "optionally the maximum price of a GPU-hour (max-price=3, in USD). A job takes the first open step with "
     "capacity. A step opens at once when no site of an earlier step can run the job. Sites that no step names are "
     "not used. Operators only.",
     "helio overflow set batch-out --queue batch --step 'home-*' --step 'eu-*,after=10m' "
     "--step 'cloud,after=30m,max-price=3'",
     O(QUEUE) | O(TENANT) | O(STEP), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_overflow_set, NULL},
    {"overflow list", "", "List overflow groups", "", "helio overflow list", 0, 0, 0, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_NONE, helio_cmd_overflow_list, NULL},
    {"overflow rm", "NAME", "Remove an overflow group", "Its jobs can use all sites again. Operators only.",
     "helio overflow rm batch-out", 0, 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_overflow_rm, NULL},
    {"tenants set", "TENANT", "Create a tenant, or change its home site or weight",
     "Applies to jobs that are submitted from then on; existing jobs keep their home site. The weight is the same "
     "one that `helio quota set` sets. Options that are not given leave their values unchanged. Operators only.",
     "helio tenants set acme --home lulea --weight 2", O(HOME) | O(WEIGHT), 1, 1, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_NONE, helio_cmd_tenants_set, NULL},
    {"tenants", "", "List tenants: home site, weight, users with a token, unfinished jobs", "Operators only.",
     "helio tenants", 0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_tenants, NULL},
    {"quota set", "TENANT", "Set the quota, guarantee and budgets of a tenant",
     "Applies to all queues of the tenant together, or with --queue to one. The burst limit counts all GPUs that the "
     "tenant holds at any moment, over all sites. If it holds more already, its running jobs continue and no new "
     "ones start. Guaranteed GPUs go to the tenant first when GPUs become free; until it asks for them, others may "
     "use them. A budget limits what the tenant can spend in a day, week or month (UTC), counting what was charged "
     "and what its running jobs are expected to cost. Its unit is gpu-h, USD, or t or kg of CO2e; a tenant can have "
     "one budget of each kind. A budget never stops a running job. --budget none removes all budgets, --budget 'none "
     "USD' one of them. Options that are not given leave their values unchanged. TENANT '*' with --queue applies to each tenant without a "
     "quota of its own in that queue. Operators only.",
     "helio quota set acme --burst 64 --budget '20000 USD/month' --budget '2 t/month'",
     O(QUEUE) | O(GUARANTEED) | O(BURST) | O(WEIGHT) | O(BUDGET), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_quota_set, NULL},
    {"quota", "[TENANT]", "List quotas, guarantees, use and budgets of tenants",
     "If there are budgets, a second table shows for each the amount used in the current period, the amount that "
     "running jobs are expected to use, the rest, and when the next period begins. csv has only the quotas. GPUH/DAY "
     "is the number of GPU-hours used in the last 24 hours, by the ledger.",
     "helio quota", 0, 0, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_quota, NULL},
    {"data set", "PREFIX SITE…", "Set which sites hold the data under a URI prefix",
     "Several sites hold replicas. If several prefixes match a URI, the longest one counts. At a site that does "
     "not hold the data that a job names in `data`, the job is charged for its transfer: time, egress and carbon, by "
     "the links. This replaces the previous entry of the prefix. With --tenant the entry applies to that tenant's jobs "
     "only, and other tenants cannot see it; --tenant '*' makes it apply to everyone again. Operators only.",
     "helio data set s3://acme-eu/corpus lulea oregon --tenant acme", O(TENANT), 2, HELIO_OPERANDS_MAX,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_data_set, NULL},
    {"data rm", "PREFIX", "Remove a URI prefix from the data catalogue", "Operators only.",
     "helio data rm s3://acme-eu/corpus", 0, 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_data_rm, NULL},
    {"data list", "", "List which sites hold which data", "", "helio data list", 0, 0, 0, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_NONE, helio_cmd_data_list, NULL},
    {"links set", "FROM TO --gbps N", "Set the bandwidth and price of a link between two sites",
     "'*' stands for any site. If several links match, the most specific one counts, and FROM weighs more than TO. "
     "Until the first link is set, no transfer is charged; from then on data can move only over links. Operators "
     "only.",
     "helio links set oregon '*' --gbps 5 --egress 0.02 --rtt 90", O(GBPS) | O(EGRESS) | O(RTT), 2, 2,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_links_set, NULL},
    {"links rm", "FROM TO", "Remove a link", "Operators only.", "helio links rm oregon '*'", 0, 2, 2,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_links_rm, NULL},
    {"links list", "", "List links, with the price of a GB", "", "helio links list", 0, 0, 0, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_NONE, helio_cmd_links_list, NULL},
    {"top", "", "Show sites, queues and running jobs, live",
     "Refreshes every two seconds. q quits; the space bar refreshes at once. With --once, and when input or output "
     "is not a terminal, it prints the screen once; -o json prints one snapshot with the same data. USD/h is the "
     "price of the GPUs in use. CO2e/h is shown where sites report their power. These totals and the figures of "
     "sites and queues cover all jobs. The waiting tenants are counted over the newest 200 waiting jobs, and the job "
     "list, ordered by GPUs, shows the newest 200 jobs at sites; when there are more, the screen says so.",
     "helio top", O(ONCE), 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_top, NULL},
    {"report", "", "Compare what jobs used with two baselines",
     "Prints totals of all time, then one line per day (UTC) and tenant for the jobs that ended on that day, against "
     "two baselines: home, an immediate start at the job's home site; and least-wait, the site where the job could "
     "have started first. A saving is positive when the jobs used less than the baseline; a negative wait means that "
     "they waited longer. INTENSITY names the kind of carbon intensity that both sides use. --balance prints, by day "
     "and site, the energy of jobs, idle GPUs, GPUs used by others and overhead beside the site's own meter; "
     "DIFFERENCE is accounted / metered - 1, over the hours for which both are complete. csv has the lines by day and tenant.",
     "helio report --days 30", O(DAYS) | O(BALANCE), 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_report,
     NULL},
    {"events", "", "Print the events of jobs",
     "Prints one line per event: without -f the events recorded so far, starting after --after; with -f also new "
     "ones, until interrupted.",
     "helio events -f", O(FOLLOW) | O(AFTER), 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_events, NULL},
    {.name = "notify",
     .synopsis = "--config FILE [--check]",
     .summary = "Tell people and programs what happens to jobs, deadlines and budgets: webhooks and commands",
     .doc = "Runs until it is ended, as a service with a token of its own, and sends each event to the targets of the "
            "file that want it: signed webhooks, or a command for mail and the like. What could not be delivered is "
            "tried again; what was read and not delivered survives this program. Standard error is its log.\n\n--check "
            "sends a test to each target and needs no broker. Options of helio itself, such as --token-file, go before "
            "`notify`. docs/notify.md says what is sent and how receivers check it.",
     .example = "helio notify --config /etc/heliostat/notify.yaml",
     .most = HELIO_OPERANDS_MAX,
     .needs = HELIO_NEEDS_SETTINGS,
     .words = HELIO_OPERANDS_PROGRAM,
     .handler = helio_cmd_notify,
     .own = &helio_notify_options},
    {"drain", "SITE --reason WHY", "Stop sending new jobs to a site",
     "Jobs that run there continue to their end. --dry-run drains nothing and prints what would become of the jobs that "
     "are there now, as `helio rehearse` does. Operators only.",
     "helio drain lulea --reason 'new switches'", O(REASON) | O(DRY_RUN) | O(FOR), 1, 1, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_SITES, helio_cmd_drain, NULL},
    {"undrain", "SITE", "Send new jobs to a site again", "", "helio undrain lulea", 0, 1, 1, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_SITES, helio_cmd_undrain, NULL},
    {"curtail", "SITE --to SHARE --for DURATION --reason WHY", "Limit the GPU power of a site for a time",
     "For that time, the GPUs of the site use at most this share of the power that all of them would use: from now on, "
     "or from --at on. Jobs that would use more wait or start elsewhere; jobs above the limit are stopped with their "
     "grace, the lowest tier first, and return to their queues. Work that may not be preempted is not touched: the "
     "answer says how much of it is above the limit. `helio uncurtail` ends it early. With --dry-run, nothing is "
     "changed: it says what would become of the jobs. Operators only.",
     "helio curtail lulea --to 60% --for 2h --reason 'the grid asks'", O(TO) | O(FOR) | O(AT) | O(REASON) | O(DRY_RUN),
     1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_curtail, NULL},
    {"uncurtail", "SITE", "End all curtailments of a site", "Also those that have not begun. Operators only.",
     "helio uncurtail lulea", O(REASON), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_uncurtail, NULL},
    {"curtailments", "[SITE]", "List curtailments of sites, and what they cost",
     "The newest first: those of the last 7 days, or --days, and those that are not over. USED and KEPT are the power of "
     "the GPUs in use, and what of it is above the limit and may not be stopped, or not yet. STOPPED is the number of jobs that were "
     "stopped, LOST the GPU time of their work that was not saved, as an estimate. Operators only.",
     "helio curtailments lulea", O(DAYS), 0, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_curtailments, NULL},
    {"attest", "SITE --dead --reason WHY", "Declare that nothing runs at a silent site any more",
     "The site's jobs can then run elsewhere, including jobs that must never run twice. A job that still runs there "
     "would then run twice, so check first. The command asks for confirmation; without a terminal it requires --yes. "
     "The audit keeps the reason. Operators only.",
     "helio attest lulea --dead --reason 'the hall is without power'", O(DEAD) | O(REASON) | O(YES), 1, 1,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_attest, NULL},
    {"keys add", "SITE KEY", "Admit a site by its agent's public key",
     "KEY is the public key (40 characters) or a file that holds it on a line of its own; lines that begin with '#' are "
     "comments. `helio-agent keygen PATH` makes the pair at the "
     "site: PATH holds the secret key, which never leaves the site, and PATH.pub the public key. A key that is in force for "
     "another site is refused; a revoked key needs --again. Administrators only.",
     "helio keys add lulea lulea.pub", O(AGAIN), 2, 2, HELIO_NEEDS_BROKER, HELIO_OPERANDS_FILES, helio_cmd_keys_add,
     NULL},
    {"keys ls", "", "List the public keys of all sites", "Includes revoked keys. Administrators only.", "helio keys ls",
     0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_keys_ls, NULL},
    {"keys revoke", "SITE [KEY]", "Revoke a site's public key immediately",
     "The site's connections with this key end within seconds, and it cannot open new ones. The site's jobs continue, and a new key that is "
     "added with `helio keys add` takes them over. Without KEY, all keys of the site are revoked. Administrators only.",
     "helio keys revoke lulea lulea.pub", 0, 1, 2, HELIO_NEEDS_BROKER, HELIO_OPERANDS_FILES, helio_cmd_keys_revoke,
     NULL},
    {"token add", "", "Create a token and print it once",
     "The broker stores only the token's hash. Administrators only.",
     "helio token add --tenant nlp --user ana --role user --ttl 90d", O(TENANT) | O(USER) | O(ROLE) | O(TTL), 0, 0,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_token_add, NULL},
    {"token ls", "", "List tokens", "", "helio token ls", 0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_token_ls, NULL},
    {"token revoke", "TOKEN-ID…", "Revoke tokens immediately", "", "helio token revoke 7c1d0f2a", 0, 1,
     HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_token_revoke, NULL},
    {"user ls", "", "List the users and sites that have access to the broker", "Administrators only.", "helio user ls",
     0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_user_ls, NULL},
    {"user disable", "USER", "Disable all tokens of a user immediately",
     "Its open streams end, and no token can be made for it until it is enabled again. Its jobs continue. "
     "Administrators only.",
     "helio user disable ana --tenant nlp", O(TENANT), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_user_disable, NULL},
    {"user enable", "USER", "Enable the tokens of a user again", "Revoked tokens stay revoked. Administrators only.",
     "helio user enable ana --tenant nlp", O(TENANT), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_user_enable, NULL},
    {"audit anchor", "", "Print the number, hash and time of the last audit entry, as one line",
     "Keep it on another machine: `helio audit verify --anchor` finds out later whether this entry is still the same. "
     "Administrators only.",
     "helio audit anchor", 0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_audit_anchor, NULL},
    {"audit verify", "", "Check that no audit entry was changed or removed",
     "Each entry holds a hash of the one before it. Exits with 1 and names the first entry that does not match its "
     "predecessor. The owner of the database can remove the last entries, or compute all hashes again: only anchors "
     "that are kept elsewhere show that. Administrators only.",
     "helio audit verify --anchor anchors.txt", O(ANCHOR), 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_audit_verify, NULL},
    {"audit", "", "List administrative changes, and who made them",
     "An action is a verb (drain, edit, cancel), or an object and what was done to it (quota-set, token-revoke, "
     "queue-rm). Rows of older releases may use other words (site_key.put, queue-remove, principal-disable). Administrators only.",
     "helio audit --limit 20", O(LIMIT) | O(ALL), 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_audit, NULL},
    {"doctor", "", "Check settings, broker, token, clock, sites and held jobs, and suggest remedies", "",
     "helio doctor", 0, 0, 0, HELIO_NEEDS_SETTINGS, HELIO_OPERANDS_NONE, helio_cmd_doctor, NULL},
    {.name = "rehearse",
     .synopsis = "--down SITE | --price SITE:FACTOR | --change CHANGE",
     .summary = "Say what would become of the jobs if a site went down, or prices, nodes or a quota changed",
     .doc =
         "Runs a copy of the live state on in virtual time, by the broker's own decisions, twice: as it is, and with "
         "the changes. Prints the jobs that would wait, move, be preempted or miss their deadline, and what each "
         "tenant's account would have more or less. Nothing is changed, and no job is submitted meanwhile. With "
         "--last, the jobs of that time are submitted again, each when it was, with the series of then. "
         "docs/rehearse.md says what is assumed. Operators only.",
     .example = "helio rehearse --down lulea --for 12h",
     .options = O(DOWN) | O(PRICE) | O(CHANGE) | O(FOR) | O(LAST),
     .needs = HELIO_NEEDS_BROKER,
     .handler = helio_cmd_rehearse},
    {.name = "simulate",
     .synopsis = "--fleet FILE --jobs FILE --carbon FILE [OPTION…]",
     .summary = "Compare policies over a trace of jobs",
     .doc = "Runs the jobs of a trace over a fleet of sites with each policy, by the broker's own decisions in virtual "
            "time, and prints a row for each: waits, slowdown, cost, energy and carbon. Needs no broker. `helio "
            "simulate --help` lists options and policies; docs/simulate.md describes the files and what the figures "
            "mean.",
     .example = "helio simulate --fleet fleet.yaml --jobs jobs.csv.gz --carbon carbon.csv.gz --policy "
                "isolated,least-wait,greenest",
     .most = HELIO_OPERANDS_MAX,
     .words = HELIO_OPERANDS_PROGRAM,
     .handler = helio_cmd_simulate},
    {"completion", "bash|zsh|fish", "Print a completion script", "", "source <(helio completion bash)", 0, 1, 1,
     HELIO_NEEDS_NOTHING, HELIO_OPERANDS_SHELLS, helio_cmd_completion, NULL},
    {"help", "[COMMAND]", "Show the help of a command, or list all commands",
     "--man prints the manual page in roff "
     "format.",
     "helio help submit", O(MAN), 0, 2, HELIO_NEEDS_NOTHING, HELIO_OPERANDS_COMMANDS, helio_cmd_help, NULL},
    {"version", "", "Print the version", "", "helio version", 0, 0, 0, HELIO_NEEDS_NOTHING, HELIO_OPERANDS_NONE,
     helio_cmd_version, NULL},
};

const helio_command_table_t helio_commands = {commands, sizeof commands / sizeof commands[0]};
