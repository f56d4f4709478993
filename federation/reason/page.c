/*  page.c -- the documentation of every reason, rejection and cause, and their reference page. */
#include "federation/reason/page.h"

#include "federation/reason/detail.h"

static const helio_reason_doc_t reasons[HELIO_REASON_COUNT] = {
    [HELIO_REASON_INVALID] = {"The document is wrong, or names what does not exist.",
                              "The message names the place; `helio help` and docs/reference/job.md the keys."},
    [HELIO_REASON_FORBIDDEN] = {"The token, or its tenant, may not do that.",
                                "Ask an administrator for a token or a role."},
    [HELIO_REASON_NEVER_FITS] =
        {"No site could run it, even empty.",
         "Ask for what a site has: `helio gpus` lists it; `helio explain` says what each site lacks."},
    [HELIO_REASON_GATED] =
        {"It waits for jobs that it depends on, for its `not_before`, for tasks of its own array, or, after a restore of the "
         "database, for the end of a copy of it that may run.",
         "Nothing: its turn comes then. `helio explain` says when, as far as that is known."},
    [HELIO_REASON_POLICY_CAP] =
        {"A bound of its own document, a quota or a budget forbids every start at present.",
         "Raise the bound or the quota; `helio explain` says to what, and when the bound is met by itself."},
    [HELIO_REASON_WAITING_FOR_CAPACITY] =
        {"Sites could run it and have no room, drain, or are silent.",
         "Wait, or allow other sites and GPUs; `helio explain` lists what would help."},
    [HELIO_REASON_WAITING_FOR_WINDOW] = {"It could start, and waits for a cheaper or cleaner hour within `flexible`.",
                                         "Nothing; without `flexible` it starts as soon as a site can take it."},
    [HELIO_REASON_QUEUED] = {"It has not been looked at yet, or as many jobs wait as the broker takes.",
                             "Wait a moment; when a submission is refused with it, submit again later."},
};

static const helio_reason_doc_t rejections[HELIO_REJECTION_COUNT] = {
    [HELIO_REJECTION_SITE_PATTERN] = {"`placement.sites` excludes the site.", "Allow it there."},
    [HELIO_REJECTION_RESIDENCY] = {"`placement.regions` excludes the site's region.",
                                   "Allow the region, if its data may go there."},
    [HELIO_REJECTION_BACKEND] = {"`placement.backends` lacks the site's kind, or the job has keys for another kind.",
                                 "Allow the kind, or take those keys away."},
    [HELIO_REJECTION_NO_SUCH_GPU] = {"The pool has no GPU of the models or the memory that are asked for.",
                                     "Add an alternative to `gpu`."},
    [HELIO_REJECTION_TOO_SMALL] =
        {"The pool could not hold it, even empty: nodes, or GPUs, CPUs or memory of one node.",
         "Ask for fewer of them, or for more nodes with fewer GPUs each."},
    [HELIO_REJECTION_NO_INTERCONNECT] = {"The pool's nodes are not linked as `interconnect` asks.",
                                         "Ask for less, if the job can do with it."},
    [HELIO_REJECTION_NO_SHARING] = {"The pool shares its GPUs among jobs, and the job wants its own.",
                                    "Set `sharing`, if the job tolerates it."},
    [HELIO_REJECTION_NO_CONTAINER_RUNTIME] = {"The job has an `image`, and the site declares no container runtime.",
                                              "Run without `image`, or have the site declare `containers`."},
    [HELIO_REJECTION_NO_LEASES] =
        {"The site cannot stop a job whose lease is over, and `on_site_loss: lease` needs that.",
         "Use `strict` or `eager`, or have the site enable leases."},
    [HELIO_REJECTION_NO_USER_MAPPING] =
        {"The site has no Unix user for the job's tenant, so it could not start it.",
         "The site's operator adds a line under `agent.users` of the site file, and starts the agent again."},
    [HELIO_REJECTION_NO_SUCH_NAME] =
        {"The job's `slurm` part names a partition or a feature that the pool's cluster does not have.",
         "Correct the name or take it away; the detail lists what the cluster has."},
    [HELIO_REJECTION_NO_LINK] = {"No link is known over which the job's data could get there.",
                                 "Place copies of the data nearer, or have an operator declare a link."},
    [HELIO_REJECTION_DEADLINE] =
        {"More than one run in ten is expected to end after `deadline`; where no similar runs are "
         "known, a run of its time limit would. In the answer to a submission: no start could be "
         "early enough.",
         "A later `deadline`, or a shorter `time`."},
    [HELIO_REJECTION_COST_CAP] =
        {"A run of p90 length (of the time limit where no similar runs are known) costs more there than `max_cost`.",
         "A larger `max_cost`, or a shorter `time`."},
    [HELIO_REJECTION_CARBON_CAP] = {"The mean intensity of its hours there is above `max_carbon`, or is not told.",
                                    "A larger `max_carbon`, or wait: the detail says until when."},
    [HELIO_REJECTION_QUOTA] =
        {"Its tenant, or the tenant's queue, holds as many GPUs as its quota allows.",
         "Wait for its other jobs, take a smaller alternative, or ask an operator (`helio quota`)."},
    [HELIO_REJECTION_BUDGET] =
        {"A budget of its tenant, or of the tenant's queue, leaves less than the start is foreseen to cost.",
         "Wait: the detail says when it begins again; or ask an operator (`helio quota`)."},
    [HELIO_REJECTION_DRAINING] = {"Operators let the site take no more jobs.",
                                  "Wait; `helio sites -o wide` says why it drains."},
    [HELIO_REJECTION_SITE_SILENT] = {"The site is not in session, or has not told what is free.",
                                     "Wait, or see to its agent: `helio sites`."},
    [HELIO_REJECTION_NO_CAPACITY] =
        {"It fits, but not now: the GPUs are in use, reserved for a gang that waits, or the site just refused.",
         "Wait: the detail says how many are free, and until when that is expected."},
    [HELIO_REJECTION_OVERFLOW] =
        {"An overflow group of the queue or the tenant keeps the site for later, or for a lower price.",
         "Wait: the detail says when it opens; `helio overflow list` shows the groups."},
};

static const helio_reason_doc_t causes[HELIO_CAUSE_COUNT] = {
    [HELIO_CAUSE_NOT_READY] = {"The site cannot accept jobs yet: its journal is being reconciled, or it holds no "
                               "lease.",
                               "Nothing: the job is placed again."},
    [HELIO_CAUSE_TOO_MANY] = {"The site holds as many attempts as it can.", "Nothing: the job is placed again."},
    [HELIO_CAUSE_NO_SUCH_POOL] = {"The site no longer has a pool of that name.", "Nothing: the job is placed again."},
    [HELIO_CAUSE_NO_CAPACITY] = {"Other jobs took the pool's nodes or GPUs in the meantime.",
                                 "Nothing: the job is placed again."},
    [HELIO_CAUSE_STALE_EPOCH] = {"The offer was older than what the site knows of the job.", "Nothing."},
    [HELIO_CAUSE_NOT_HERE] = {"The broker asked the site to stop an attempt that the site does not have.", "Nothing."},
    [HELIO_CAUSE_FENCED] = {"A newer attempt of the job exists, so the site stopped this one.",
                            "Nothing: its result does not count."},
    [HELIO_CAUSE_RULED] = {"When the site reconnected, the broker had no use for the attempt any more.", "Nothing."},
    [HELIO_CAUSE_STOPPED] = {"The broker ordered the stop; the explanation says why.", "Nothing."},
    [HELIO_CAUSE_LEASE_EXPIRED] =
        {"The site had not reached the broker for the length of its lease, so it stopped the job.",
         "Check the site's connection; jobs with `on_site_loss: strict` are not stopped."},
    [HELIO_CAUSE_BAD_DOCUMENT] = {"The agent cannot read the job file.", "Update the agent."},
    [HELIO_CAUSE_BAD_OPTION] = {"The site does not pass on an option of the job's `slurm` or `kubernetes` part.",
                                "Remove the option, or have the site's operator allow it."},
    [HELIO_CAUSE_NO_USER_MAPPING] = {"The site has no usable Unix user for the job's tenant and user.",
                                     "The site's operator mends `agent.users` in the site file."},
    [HELIO_CAUSE_MISSING_SECRET] = {"The site does not have a secret that the job names.",
                                    "The site's operator stores it for this user, or the job runs elsewhere."},
    [HELIO_CAUSE_NO_CONTAINER_RUNTIME] = {"The job has an `image`, and the site runs no containers.",
                                          "Run without `image`, or at another site."},
    [HELIO_CAUSE_START_FAILED] = {"The site could not start the job's processes.",
                                  "The explanation says what the system reported."},
    [HELIO_CAUSE_SUBMIT_REFUSED] = {"The cluster's scheduler refused the job, or would never start it.",
                                    "Change what the explanation names: partition, account, limits."},
    [HELIO_CAUSE_SUBMIT_FAILED] = {"The job could not be submitted to the cluster's scheduler.",
                                   "Check the cluster's controller: `scontrol ping`."},
    [HELIO_CAUSE_WAITS_IN_CLUSTER] = {"The job is pending in the cluster's own queue.",
                                      "Nothing: the explanation is the scheduler's pending reason."},
    [HELIO_CAUSE_WITHDRAWN] = {"The job could not start in the cluster's queue for too long, so the site withdrew it.",
                               "Nothing: it is placed again."},
    [HELIO_CAUSE_SITE_SUSPENDED] = {"The site suspended the job.", "Ask the site's operator."},
    [HELIO_CAUSE_SITE_CANCELLED] = {"The site cancelled or requeued the job.", "Ask the site's operator."},
    [HELIO_CAUSE_PREEMPTED] = {"The site's own scheduler preempted the job.", "Nothing: it is placed again."},
    [HELIO_CAUSE_NODE_FAILED] = {"A node of the job failed.", "Nothing: it is placed again."},
    [HELIO_CAUSE_OUT_OF_MEMORY] = {"The job used more memory than it requested.", "Request more `memory`."},
    [HELIO_CAUSE_VANISHED] = {"The job's processes are gone and left no exit code.",
                              "The explanation gives what is known: a restarted machine, a killed helio-shim."},
    [HELIO_CAUSE_DOUBTED] = {"What the site reports of the run contradicts its own records.",
                             "Ask the site's operator."},
    [HELIO_CAUSE_OPTION_NOT_ALLOWED] =
        {"The job names a queue or a priority class of the cluster that the site does not "
         "allow jobs to name. Nothing was created there.",
         "Leave it out, or have the site's operator list it."},
};

helio_reason_doc_t helio_reason_doc(helio_reason_t reason)
{
    return reason < HELIO_REASON_COUNT ? reasons[reason] : (helio_reason_doc_t){NULL, NULL};
}

helio_reason_doc_t helio_rejection_doc(helio_rejection_t rejection)
{
    return rejection < HELIO_REJECTION_COUNT ? rejections[rejection] : (helio_reason_doc_t){NULL, NULL};
}

helio_reason_doc_t helio_cause_doc(helio_cause_t cause)
{
    return cause < HELIO_CAUSE_COUNT ? causes[cause] : (helio_reason_doc_t){NULL, NULL};
}

static void row(helio_buffer_t *out, const char *word, const char *group, helio_reason_doc_t doc)
{
    helio_buffer_printf(out, "| `%s` | ", word);
    if (group)
        helio_buffer_printf(out, "`%s` | ", group);
    helio_buffer_printf(out, "%s | %s |\n", doc.meaning ? doc.meaning : "?", doc.remedy ? doc.remedy : "?");
}

/*  `used_gpus` integer, `until` RFC 3339 time */
static void params_text(const helio_detail_entry_t *entry, helio_buffer_t *out)
{
    static const char *const json[] = {
#define X(name, json) json,
        HELIO_VALUE_KIND_TABLE(X)
#undef X
    };
    for (uint32_t i = 0; i < entry->param_count; i++)
        helio_buffer_printf(out, "%s`%s` %s", i ? ", " : "", entry->params[i].name, json[entry->params[i].kind]);
}

/*  Escapes '|', which would end the table's cell. */
static void sentence_text(const char *sentence, helio_buffer_t *out)
{
    for (const char *at = sentence; *at; at++)
        helio_buffer_printf(out, *at == '|' ? "\\%c" : "%c", *at);
}

static void details_section(helio_buffer_t *out)
{
    helio_buffer_text(
        out, "\n## Details\n\n"
             "The facts behind a reason: `details` of a job, a decision and a candidate is a list of "
             "`{\"code\", \"params\"}`. Programs read these; the sentences (`detail`, `text`) are for people and "
             "can change with any release. Codes and parameters are only ever added. Parameters named `problem`, "
             "`explanation` or `why` hold the words of a parser, a site or the system: they too are for people. In a "
             "sentence `[…]` is left out when a value in it is 0 or empty, and `{n|job|jobs}` is the word for that "
             "number.\n\n"
             "| code | sentence | params |\n|---|---|---|\n");
    for (uint32_t i = HELIO_DETAIL_NONE + 1; i < HELIO_DETAIL_CODE_COUNT; i++) {
        const helio_detail_entry_t *entry = helio_detail_entry(i);
        helio_buffer_printf(out, "| `%s` | ", entry->word);
        sentence_text(entry->sentence, out);
        helio_buffer_text(out, " | ");
        params_text(entry, out);
        helio_buffer_text(out, " |\n");
    }
}

void helio_reasons_page(helio_buffer_t *out)
{
    helio_buffer_text(
        out, "# Reasons\n\n"
             "<!-- Made from federation/reason by its test. -->\n\n"
             "Words that programs can branch on. A word is never changed or removed; a new release may add words.\n\n"
             "## What a job waits for\n\n"
             "`reason` of a queued job, and of a refused submission. Where several apply, the first of this list "
             "is given.\n\n"
             "| reason | meaning | what to do |\n|---|---|---|\n");
    for (uint32_t i = HELIO_REASON_NONE + 1; i < HELIO_REASON_COUNT; i++)
        row(out, helio_reason_name(i), NULL, helio_reason_doc(i));
    helio_buffer_text(out,
                      "\n## Why a site is not a candidate\n\n"
                      "`reason` of each candidate in `helio explain` and `helio plan`, and `rejected_reason` of "
                      "`helio_report.placement_candidates`. The second column is what the job waits for when no site "
                      "is better.\n\n"
                      "| reason | the job waits with | meaning | what to do |\n|---|---|---|---|\n");
    for (uint32_t i = HELIO_REJECTION_NONE + 1; i < HELIO_REJECTION_COUNT; i++)
        row(out, helio_rejection_name(i), helio_reason_name(helio_rejection_group(i)), helio_rejection_doc(i));
    helio_buffer_text(out,
                      "\n## What a site says of an attempt\n\n"
                      "`cause` in the details of a job that a site refused, lost or stopped, or that waits there.\n\n"
                      "| cause | meaning | what to do |\n|---|---|---|\n");
    for (uint32_t i = HELIO_CAUSE_NONE + 1; i < HELIO_CAUSE_COUNT; i++)
        row(out, helio_cause_name(i), NULL, helio_cause_doc(i));
    details_section(out);
}
