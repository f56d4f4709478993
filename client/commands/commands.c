#include "client/commands/commands.h"

#define O(name) HELIO_OPTION(name)

static const helio_command_t commands[] = {
    {"run", "FILE|-", "Submit one job, follow it and exit with its code",
     "Submits the job, prints its states on standard error and its log on standard output, and ends with the "
     "job's own "
     "exit code.\n\nThe first Ctrl-C only asks; the second cancels the job; the third leaves at once. "
     "Ctrl-\\ leaves "
     "without cancelling. A broker that goes away is waited for; the job is not affected. A job that becomes "
     "held ends "
     "it with 8, as somebody has to release it; --keep-waiting stays.",
     "helio run train.yaml", O(IDEMPOTENCY_KEY) | O(TIMEOUT) | O(KEEP_WAITING), 1, 1, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_FILES, helio_cmd_run},
    {"submit", "FILE…|-", "Submit jobs and print their ids",
     "A file holds one job, a YAML stream (---), JSON objects one after another, or {\"jobs\": […]}. `-` "
     "reads standard "
     "input. Every document is checked here first; if one is wrong, nothing is sent.\n\nSubmissions carry an "
     "idempotency "
     "key, so that an answer lost on the way never leads to a second job; give your own to make repeating "
     "the whole "
     "command safe.",
     "helio submit -o name sweep.yaml", O(IDEMPOTENCY_KEY), 1, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_FILES, helio_cmd_submit},
    {"plan", "FILE", "Say where a job would go, when, and at what cost",
     "The broker judges the job file by the code that places jobs, and stores nothing: every site with its "
     "start, money, energy "
     "and carbon, or the reason why not. Exits with 5 when no site could ever run it. `-` reads standard "
     "input.",
     "helio plan train.yaml", 0, 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_FILES, helio_cmd_plan},
    {.name = "sbatch",
     .synopsis = "[SBATCH-OPTION…] [SCRIPT [ARGUMENT…]]",
     .summary = "Submit a batch script written for Slurm",
     .doc = "Reads the script's #SBATCH lines by Slurm's own rules, SBATCH_* variables and sbatch's options, "
            "and "
            "prints `Submitted batch job ID` (with --parsable the id alone). Without SCRIPT it is read from "
            "standard "
            "input.\n\n#HELIO lines in the script hold keys of a job file, such as `#HELIO placement: {goal: "
            "green}`. "
            "helio's own options stand before `sbatch`; --broker, --context, --token-file, --ca-file, "
            "--color and "
            "--idempotency-key also behind it. docs/sites/sbatch.md says what becomes of each option.",
     .example = "helio sbatch --gres=gpu:2 train.sh --epochs 3",
     .options = O(IDEMPOTENCY_KEY),
     .most = HELIO_OPERANDS_MAX,
     .needs = HELIO_NEEDS_BROKER,
     .words = HELIO_OPERANDS_BATCH,
     .handler = helio_cmd_sbatch},
    {.name = "convert",
     .synopsis = "[SBATCH-OPTION…] [SCRIPT [ARGUMENT…]]",
     .summary = "Print the job file that a batch script for Slurm becomes",
     .doc = "Takes the words of `helio sbatch`, sends nothing and needs no broker: --idempotency-key changes nothing "
            "here.",
     .example = "helio convert train.sh >train.yaml",
     .options = O(IDEMPOTENCY_KEY),
     .most = HELIO_OPERANDS_MAX,
     .words = HELIO_OPERANDS_BATCH,
     .handler = helio_cmd_convert},
    {"ls", "", "List jobs, the newest first",
     "Tables show the last 8 characters of an id; every command accepts them.", "helio ls --state running",
     O(STATE) | O(QUEUE) | O(NAME) | O(LIMIT) | O(ALL), 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_ls},
    {"show", "ID…", "Show jobs with their history", "", "helio show 4q8r7xyz", 0, 1, HELIO_OPERANDS_MAX,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS, helio_cmd_show},
    {"explain", "ID", "Say why a job waits, or why it is where it is",
     "State and expected start, the dominant reason, why this site against the next best, every rejected "
     "site with its "
     "reason, and the history.",
     "helio explain 4q8r7xyz", 0, 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS, helio_cmd_explain},
    {"logs", "ID", "Print a job's output",
     "What the job's latest attempt wrote, or that of --epoch. With -f until the job is over.",
     "helio logs -f 4q8r7xyz", O(FOLLOW) | O(EPOCH), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS,
     helio_cmd_logs},
    {"wait", "ID…", "Wait for jobs to end and exit with their code",
     "Exits with the job's own code; of several, the first in the order given that is not 0. 124: the job's "
     "time limit; "
     "130: cancelled; 125: lost. With --timeout it exits with 8 when that comes first, and also when none of "
     "the "
     "jobs goes on before somebody releases one that is held, unless --keep-waiting is given. A broker that "
     "goes "
     "away is waited "
     "for.",
     "helio wait --timeout 6h 4q8r7xyz", O(TIMEOUT) | O(KEEP_WAITING), 1, HELIO_OPERANDS_MAX,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS, helio_cmd_wait},
    {"cancel", "ID…", "Cancel jobs", "A running job gets its grace time first.", "helio cancel 4q8r7xyz", 0,
     1, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS, helio_cmd_cancel},
    {"edit", "ID…", "Change what jobs ask for that wait",
     "Of a job that is queued or held, and of an array as a whole: its tasks that have a place go on as they are. What "
     "is not given stays. --priority orders a job among its own tenant's jobs of its queue, -100 to 100 (0 unless "
     "edited); it never passes other tenants' jobs by it. --flexible counts from the submission. A deadline that no "
     "site can meet is refused, as at the submission. The document stays as it was submitted: `helio show` lists what "
     "was edited, when and by whom.",
     "helio edit 4q8r7xyz --goal green --flexible 12h",
     O(PRIORITY) | O(GOAL) | O(DEADLINE) | O(FLEXIBLE) | O(MAX_COST) | O(MAX_CARBON) | O(QUEUE), 1,
     HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS, helio_cmd_edit},
    {"release", "ID…", "Let held jobs be placed again",
     "A job is held when it keeps failing for reasons that are not its own; `helio explain` shows the "
     "evidence.",
     "helio release 4q8r7xyz", 0, 1, HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_JOBS,
     helio_cmd_release},
    {"sites", "", "List the sites", "", "helio sites -o wide", 0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_sites},
    {"gpus", "", "List GPUs: free, in all, and the largest block", "", "helio gpus", 0, 0, 0,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_gpus},
    {"forecast", "[SITE]", "Show what sites tell of the hours ahead",
     "A line a series: the hour that is, least, mean and most of the hours ahead, the range of its quantiles "
     "where there are any, how old the issue is, and a character an hour, or that all are the same. Of `free` "
     "an hour's value is the least of the whole hour, as GPUs that are kept within it are nobody's to plan "
     "with: `helio gpus` has what is free at this moment. On a terminal the characters are blocks; elsewhere, "
     "and with NO_COLOR, digits from 0 (the least) to 9 (the most), and a full stop where nothing is told. -o "
     "wide adds pool, kind, whether the source estimates, and by how much such series were off, by hours "
     "ahead, over the last seven days. json and jsonl give the series, csv a line a point.",
     "helio forecast lulea --signal carbon --hours 24", O(SIGNAL) | O(HOURS), 0, 1, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_SITES, helio_cmd_forecast},
    {"queues set", "QUEUE", "Make a queue, change it, or give it another priority for a while",
     "A queue that is not there is made, with --priority. What is not given stays as it is. With --for the priority "
     "holds so long and no longer, with --region at the sites of that region alone; --clear ends it. Operators only.",
     "helio queues set batch --priority 900 --region EU --for 6h",
     O(PRIORITY) | O(TIER) | O(TIME) | O(REGION) | O(FOR) | O(CLEAR), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_queues_set},
    {"queues schedule", "QUEUE [HOURS]", "Give a queue another priority at hours of the week",
     "HOURS are days, times and a time zone (UTC unless named): 'Mon..Fri 20:00-08:00 Europe/Berlin', 'Sat,Sun "
     "00:00-24:00'. With --region at the sites of that region alone; --remove removes the rule of these hours and "
     "this region. Without HOURS the rules of the queue are listed, in order of precedence. Setting is for operators "
     "only.",
     "helio queues schedule batch 'Mon..Fri 20:00-08:00 Europe/Berlin' --priority 900",
     O(PRIORITY) | O(REGION) | O(REMOVE), 1, 2, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_queues_schedule},
    {"queues rm", "QUEUE", "Remove a queue that has no open jobs", "Operators only.", "helio queues rm nightly",
     0, 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_queues_rm},
    {"queues", "", "List the queues",
     "PRIORITY is what holds everywhere at this moment, REGIONS where another one does.", "helio queues", 0, 0, 0,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_queues},
    {"overflow set", "NAME", "Set where jobs may go, step by step, as the wait grows",
     "The jobs are those of --queue, of --tenant, or of both. Each --step names sites by patterns, and from the "
     "second on how long a job waits before it may go there (after=10m), and what a GPU-hour may cost (max-price=3, "
     "in USD). Of the steps that are open the first with room is taken; a step opens at once when no site before it "
     "can take the job. Sites that no step names are not used. Operators only.",
     "helio overflow set batch-out --queue batch --step 'home-*' --step 'eu-*,after=10m' "
     "--step 'cloud,after=30m,max-price=3'",
     O(QUEUE) | O(TENANT) | O(STEP), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_overflow_set},
    {"overflow list", "", "List overflow groups", "", "helio overflow list", 0, 0, 0, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_NONE, helio_cmd_overflow_list},
    {"overflow rm", "NAME", "Remove an overflow group", "Its jobs may go everywhere again. Operators only.",
     "helio overflow rm batch-out", 0, 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_overflow_rm},
    {"tenants set", "TENANT", "Make a tenant, or change its home site or its weight",
     "It holds at once, for jobs that are submitted from then on; those that are there keep their home. The weight is "
     "the one that `helio quota set` sets too. What is not given stays. Operators only.",
     "helio tenants set acme --home lulea --weight 2", O(HOME) | O(WEIGHT), 1, 1, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_NONE, helio_cmd_tenants_set},
    {"tenants", "", "List the tenants: home, weight, users with a token, open jobs", "Operators only.",
     "helio tenants", 0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_tenants},
    {"quota set", "TENANT", "Set what a tenant may hold, is owed and may spend",
     "Of all its queues together, or of one. A limit holds over all sites and at every moment; one below "
     "what runs lets that "
     "run on and nothing more in. What is guaranteed comes first when GPUs become free; until it is asked "
     "for, others may "
     "have it. A budget is what may be spent in a day, a week or a month (UTC), by what is booked and what is "
     "foreseen of the jobs that run: in gpu-h, USD, and t or kg of CO2e, one of each. It stops nothing that runs. "
     "--budget none ends all of them, --budget 'none USD' one. What is not given stays as it is. TENANT '*' with "
     "--queue: each tenant that has none of its own there. Operators only.",
     "helio quota set acme --burst 64 --budget '20000 USD/month' --budget '2 t/month'",
     O(QUEUE) | O(GUARANTEED) | O(BURST) | O(WEIGHT) | O(BUDGET), 1, 1,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_quota_set},
    {"quota", "[TENANT]", "List what tenants may hold, are owed and hold now, and their budgets",
     "Where there are budgets a second table has them: what is used of the period that is, what jobs that run are "
     "foreseen to use of it yet, what is left for starts, and when it begins again. csv has the quotas alone. "
     "GPUH/DAY: GPU-hours that it used in the 24 hours to now, by the ledger.",
     "helio quota", 0, 0, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_quota},
    {"data set", "PREFIX SITE…", "Say which sites hold what lies under a URI prefix",
     "Several sites hold replicas. Of several prefixes that a URI lies under the longest counts. A job that names "
     "data in `data` is charged what bringing it costs where it does not lie already: time, egress and carbon, by "
     "the links. What is said takes the place of what was said of the prefix before. With --tenant it is for that "
     "tenant's jobs alone, and nobody else's users read of it, until --tenant '*' makes it everybody's. Operators "
     "only.",
     "helio data set s3://acme-eu/corpus lulea oregon --tenant acme", O(TENANT), 2, HELIO_OPERANDS_MAX,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_data_set},
    {"data rm", "PREFIX", "Take a URI prefix out of the catalogue", "Operators only.",
     "helio data rm s3://acme-eu/corpus", 0, 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_data_rm},
    {"data list", "", "List which sites hold what", "", "helio data list", 0, 0, 0, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_NONE, helio_cmd_data_list},
    {"links set", "FROM TO --gbps N", "Set what leads from one site to another",
     "'*' stands for any site; of several links that fit the most specific counts, FROM before TO. Until the first "
     "link is set no transfer is charged; from then on data cannot go where no link leads. Operators only.",
     "helio links set oregon '*' --gbps 5 --egress 0.02 --rtt 90", O(GBPS) | O(EGRESS) | O(RTT), 2, 2,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_links_set},
    {"links rm", "FROM TO", "Remove a link", "Operators only.", "helio links rm oregon '*'", 0, 2, 2,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_links_rm},
    {"links list", "", "List links and what a GB costs over them", "", "helio links list", 0, 0, 0, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_NONE, helio_cmd_links_list},
    {"top", "", "Show the federation live: sites, queues and who waits, what runs by GPUs",
     "Asked for anew every two seconds. q quits, the space bar looks at once. With --once, and where output or"
     " input is no terminal, it is printed once; -o json prints one snapshot with all that is shown. USD/h is "
     "what the GPUs in use cost where they are; CO2e/h is there where sites tell their power. These totals, "
     "and the figures of sites and queues, are of all jobs; who waits is counted among the newest 200 that "
     "wait, and the list of jobs, those with most GPUs first, is of the newest 200 at sites: where there are "
     "more, the screen says so.",
     "helio top", O(ONCE), 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_top},
    {"report", "", "Show what was used, and what two baselines would have used",
     "Totals of all time, then by day (UTC) and team what its jobs used that ended on it, against: home, the "
     "job's home "
     "site at once; least-wait, where it could have started first. What is saved is below the baseline; a "
     "negative "
     "wait is time waited longer. Intensity says what both sides are stated in. --balance: by day and site, the "
     "energy of jobs, idle and foreign GPUs and overhead beside what the site's own meter says; the difference is "
     "booked over metered, less 1, of the hours that are known in whole.",
     "helio report --days 30", O(DAYS) | O(BALANCE), 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_report},
    {"events", "", "Print what happens to jobs",
     "One line an event. Without -f what is recorded so far, after the event of --after; with -f what is "
     "new, too.",
     "helio events -f", O(FOLLOW) | O(AFTER), 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_events},
    {"drain", "SITE --reason WHY", "Offer a site no more work",
     "What runs there goes on to its end. Operators only.", "helio drain lulea --reason 'new switches'",
     O(REASON), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_drain},
    {"undrain", "SITE", "Offer a site work again", "", "helio undrain lulea", 0, 1, 1, HELIO_NEEDS_BROKER,
     HELIO_OPERANDS_SITES, helio_cmd_undrain},
    {"attest", "SITE --dead --reason WHY", "Attest that a silent site runs nothing any more",
     "After this its jobs may run elsewhere, also those that must never run twice. If you are wrong, they "
     "run twice: look "
     "first. It asks before it does so; without a terminal it is refused unless --yes says so. The audit keeps the "
     "reason. Operators only.",
     "helio attest lulea --dead --reason 'the hall is without power'", O(DEAD) | O(REASON) | O(YES), 1, 1,
     HELIO_NEEDS_BROKER, HELIO_OPERANDS_SITES, helio_cmd_attest},
    {"keys add", "SITE KEY", "Admit a site by its agent's public key",
     "KEY is the public key (40 characters) or a file that holds it. Administrators only.",
     "helio keys add lulea lulea.pub", 0, 2, 2, HELIO_NEEDS_BROKER, HELIO_OPERANDS_FILES, helio_cmd_keys_add},
    {"keys new", "PATH", "Say how a site's key pair is made",
     "Key pairs are made where they are used, by `helio-agent keygen PATH`; the secret half never leaves the "
     "site.",
     "", 0, 0, 1, HELIO_NEEDS_NOTHING, HELIO_OPERANDS_FILES, helio_cmd_keys_new},
    {"token add", "", "Make a token and print it, once",
     "Administrators only. The broker keeps only its hash.",
     "helio token add --tenant nlp --user ana --role user --ttl 90d", O(TENANT) | O(USER) | O(ROLE) | O(TTL),
     0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_token_add},
    {"token ls", "", "List tokens", "", "helio token ls", 0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_token_ls},
    {"token revoke", "TOKEN-ID…", "Revoke tokens, at once", "", "helio token revoke 7c1d0f2a", 0, 1,
     HELIO_OPERANDS_MAX, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_token_revoke},
    {"user ls", "", "List users and sites that may ask something of the broker", "Administrators only.",
     "helio user ls", 0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_user_ls},
    {"user disable", "USER", "Stop every token of a user, at once",
     "Open streams end, and no token can be made for it until it is enabled. Its jobs go on. Administrators only.",
     "helio user disable ana --tenant nlp", O(TENANT), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_user_disable},
    {"user enable", "USER", "Let a user's tokens open again", "Revoked ones stay so. Administrators only.",
     "helio user enable ana --tenant nlp", O(TENANT), 1, 1, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE,
     helio_cmd_user_enable},
    {"audit verify", "", "Check that nothing of the audit was changed or taken away",
     "Each entry holds a hash of the one before it. Exits with 1 and names the first entry that does not follow "
     "from its forerunner. Administrators only.",
     "helio audit verify", 0, 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_audit_verify},
    {"audit", "", "List who changed what",
     "An action is a verb (drain, edit, cancel), or what was changed and how (quota-set, token-revoke, "
     "queue-rm); rows of older releases may have other words (site_key.put, queue-remove). Administrators only.",
     "helio audit --limit 20",
     O(LIMIT) | O(ALL), 0, 0, HELIO_NEEDS_BROKER, HELIO_OPERANDS_NONE, helio_cmd_audit},
    {"doctor", "", "Check settings, broker, token, clock and sites, with remedies", "", "helio doctor", 0, 0,
     0, HELIO_NEEDS_SETTINGS, HELIO_OPERANDS_NONE, helio_cmd_doctor},
    {"completion", "bash|zsh|fish", "Print a completion script", "", "source <(helio completion bash)", 0, 1,
     1, HELIO_NEEDS_NOTHING, HELIO_OPERANDS_SHELLS, helio_cmd_completion},
    {"help", "[COMMAND]", "Explain a command, or list them all", "--man prints the manual page in roff.",
     "helio help submit", O(MAN), 0, 2, HELIO_NEEDS_NOTHING, HELIO_OPERANDS_COMMANDS, helio_cmd_help},
    {"version", "", "Print the version", "", "helio version", 0, 0, 0, HELIO_NEEDS_NOTHING, HELIO_OPERANDS_NONE,
     helio_cmd_version},
};

const helio_command_table_t helio_commands = {commands, sizeof commands / sizeof commands[0]};
