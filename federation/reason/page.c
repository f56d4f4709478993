/*  page.c -- the documentation of every reason, rejection and cause, and their reference page. */
#include "federation/reason/page.h"

#include <string.h>

#include "federation/reason/detail.h"

static const helio_reason_doc_t reasons[HELIO_REASON_COUNT] = {
    [HELIO_REASON_INVALID] = {"The document is wrong, or names something that does not exist.",
                              "The message says where; docs/reference/job.md lists the keys."},
    [HELIO_REASON_FORBIDDEN] = {"The token or its tenant has no permission for this.",
                                "Ask an administrator for a token or a role."},
    [HELIO_REASON_NEVER_FITS] =
        {"No site could run it, even empty.",
         "Request what a site has: `helio gpus` lists it; `helio explain` says what each site lacks."},
    [HELIO_REASON_GATED] =
        {"It waits for jobs that it depends on, for its `not_before`, for tasks of its own array, or, after a restore of the "
         "database, for the end of a copy of it that may run.",
         "Nothing: the wait ends by itself. `helio explain` says when, as far as that is known."},
    [HELIO_REASON_POLICY_CAP] =
        {"A bound in its job file, a quota or a budget forbids every start at present.",
         "Raise the bound or the quota; `helio explain` says to which value, and when the job meets the bound without a change."},
    [HELIO_REASON_WAITING_FOR_CAPACITY] =
        {"The sites that could run it have no free capacity, are draining, or are silent.",
         "Wait, or allow other sites and GPUs; `helio explain` lists what would help."},
    [HELIO_REASON_WAITING_FOR_WINDOW] =
        {"It could start now, but waits for a cheaper or cleaner hour within `flexible`.",
         "Nothing; without `flexible` it starts as soon as a site can take it."},
    [HELIO_REASON_QUEUED] = {"It has not been considered yet, or the broker has reached its limit of unfinished jobs.",
                             "Wait a moment; if a submission is refused with this reason, submit it again later."},
};

static const helio_reason_doc_t rejections[HELIO_REJECTION_COUNT] = {
    [HELIO_REJECTION_SITE_PATTERN] = {"`placement.sites` excludes the site.", "Add the site to `placement.sites`."},
    [HELIO_REJECTION_RESIDENCY] = {"`placement.regions` excludes the site's region.",
                                   "Allow the region, if the data of the job may go there."},
    [HELIO_REJECTION_BACKEND] =
        {"`placement.backends` lacks the site's backend, or the job has keys for another backend.",
         "Allow the backend, or remove those keys."},
    [HELIO_REJECTION_NO_SUCH_GPU] = {"The pool has no GPU of a requested model, or with the requested memory.",
                                     "Add an alternative to `gpu`."},
    [HELIO_REJECTION_TOO_SMALL] =
        {"The pool is too small for it, even empty: too few nodes, or too few GPUs or CPUs or too little memory in a node.",
         "Request less, or more nodes with fewer GPUs each."},
    [HELIO_REJECTION_NO_INTERCONNECT] = {"The pool's nodes do not have the `interconnect` that the job requests.",
                                         "Request a slower one, if that is enough for the job."},
    [HELIO_REJECTION_NO_SHARING] = {"The pool shares its GPUs among jobs, and the job requests GPUs of its own.",
                                    "Set `sharing`, if the job tolerates it."},
    [HELIO_REJECTION_NO_CONTAINER_RUNTIME] = {"The job has an `image`, and the site declares no container runtime.",
                                              "Remove `image`, or ask the site's operator to declare `containers`."},
    [HELIO_REJECTION_NO_LEASES] =
        {"The site cannot stop a job whose lease has expired, which `on_site_loss: lease` requires.",
         "Use `strict` or `eager`, or ask the site's operator to enable leases."},
    [HELIO_REJECTION_NO_SPOT] =
        {"The provider can take the nodes of that spot pool away at any time, and the job declares no checkpoint, or says "
         "`placement.spot: never`.",
         "Declare `checkpoint`, or set `placement.spot: allow`: a run that is interrupted begins again."},
    [HELIO_REJECTION_NO_USER_MAPPING] =
        {"The site has no Unix user for the job's tenant, so it could not start it.",
         "The site's operator adds a line under `agent.users` in the site file and restarts the agent."},
    [HELIO_REJECTION_NO_SUCH_NAME] =
        {"The job's `slurm` part names a partition or a feature that the pool's cluster does not have.",
         "Correct or remove the name; the detail lists what the cluster has."},
    [HELIO_REJECTION_NO_LINK] = {"No link is set over which the job's data could reach the site.",
                                 "Store the data at a site that has a link to it, or ask an operator to set a link."},
    [HELIO_REJECTION_DEADLINE] =
        {"More than one run in ten is expected to end after `deadline`; if no similar runs are known, a run that "
         "takes its whole time limit would. In the response to a submission: no start is early enough.",
         "Set a later `deadline` or a shorter `time`."},
    [HELIO_REJECTION_COST_CAP] =
        {"A run of p90 length (or of the time limit, if no similar runs are known) costs more there than `max_cost`.",
         "Set a larger `max_cost` or a shorter `time`."},
    [HELIO_REJECTION_CARBON_CAP] = {"The mean carbon intensity of the run there is above `max_carbon`, or unknown.",
                                    "Set a larger `max_carbon`, or wait: the detail says until when."},
    [HELIO_REJECTION_QUOTA] =
        {"Its tenant, or the tenant's queue, holds as many GPUs as its quota allows.",
         "Wait for the tenant's other jobs, request fewer GPUs, or ask an operator for a larger quota (`helio quota`)."},
    [HELIO_REJECTION_BUDGET] =
        {"The rest of a budget of its tenant, or of the tenant's queue, is less than the expected cost of the start.",
         "Wait for the next budget period, which the detail names, or ask an operator for a larger budget (`helio quota`)."},
    [HELIO_REJECTION_DRAINING] = {"An operator drains the site: it gets no new jobs.",
                                  "Wait; `helio sites -o wide` shows the reason."},
    [HELIO_REJECTION_SITE_SILENT] = {"The site has no session, or has not reported its free capacity.",
                                     "Wait, or check the site's agent (`helio sites`)."},
    [HELIO_REJECTION_NO_CAPACITY] =
        {"It does not fit now: the GPUs are in use or reserved for a waiting gang, or the site has just refused it.",
         "Wait: the detail says how many GPUs are free, and until when."},
    [HELIO_REJECTION_OVERFLOW] =
        {"An overflow group of the queue or the tenant opens the site only after a longer wait, or below a certain price.",
         "Wait: the detail says when the site opens; `helio overflow list` shows the groups."},
    [HELIO_REJECTION_CURTAILED] =
        {"An operator has curtailed the site, often because the grid asked for it: with the job, its GPUs would use more "
         "power than they may.",
         "Wait: the detail says until when. The job can start at other sites meanwhile."},
};

static const helio_reason_doc_t causes[HELIO_CAUSE_COUNT] = {
    [HELIO_CAUSE_NOT_READY] = {"The site cannot accept jobs yet: its journal is being reconciled, or it holds no "
                               "lease.",
                               "Nothing: the job is placed again."},
    [HELIO_CAUSE_TOO_MANY] = {"The site holds as many attempts as it can.", "Nothing: the job is placed again."},
    [HELIO_CAUSE_NO_SUCH_POOL] = {"The site no longer has a pool of that name.", "Nothing: the job is placed again."},
    [HELIO_CAUSE_NO_CAPACITY] = {"Other jobs took the pool's nodes or GPUs in the meantime.",
                                 "Nothing: the job is placed again."},
    [HELIO_CAUSE_STALE_EPOCH] = {"The site knows a newer attempt of the job than the one that was offered.",
                                 "Nothing."},
    [HELIO_CAUSE_NOT_HERE] = {"The broker asked the site to stop an attempt that the site does not have.", "Nothing."},
    [HELIO_CAUSE_FENCED] = {"A newer attempt of the job exists, so the site stopped this one.",
                            "Nothing: its result does not count."},
    [HELIO_CAUSE_RULED] = {"When the site reconnected, the broker no longer needed the attempt.", "Nothing."},
    [HELIO_CAUSE_STOPPED] = {"The broker ordered the stop; the explanation says why.", "Nothing."},
    [HELIO_CAUSE_LEASE_EXPIRED] =
        {"The site had not reached the broker for the length of its lease, so it stopped the job.",
         "Check the site's connection; jobs with `on_site_loss: strict` are not stopped."},
    [HELIO_CAUSE_BAD_DOCUMENT] = {"The agent cannot read the job file.", "Update the agent."},
    [HELIO_CAUSE_BAD_OPTION] = {"The site does not pass on an option of the job's `slurm` or `kubernetes` part.",
                                "Remove the option, or ask the site's operator to allow it."},
    [HELIO_CAUSE_NO_USER_MAPPING] = {"The site has no usable Unix user for the job's tenant and user.",
                                     "The site's operator corrects `agent.users` in the site file."},
    [HELIO_CAUSE_MISSING_SECRET] = {"The site does not have a secret that the job names.",
                                    "Ask the site's operator to store it for this user, or exclude the site."},
    [HELIO_CAUSE_NO_CONTAINER_RUNTIME] = {"The job has an `image`, and the site runs no containers.",
                                          "Remove `image`, or exclude the site."},
    [HELIO_CAUSE_START_FAILED] = {"The site could not start the job's processes.",
                                  "See the explanation: it is what the system reported."},
    [HELIO_CAUSE_SUBMIT_REFUSED] = {"The cluster's scheduler refused the job, or would never start it.",
                                    "Change what the explanation names: partition, account, limits."},
    [HELIO_CAUSE_SUBMIT_FAILED] = {"The job could not be submitted to the cluster's scheduler.",
                                   "Check the cluster's controller: `scontrol ping`."},
    [HELIO_CAUSE_WAITS_IN_CLUSTER] = {"The job is pending in the cluster's own queue.",
                                      "Nothing: the explanation is the scheduler's pending reason."},
    [HELIO_CAUSE_WITHDRAWN] =
        {"The job left the cluster's queue before it began: it could not start for too long, or the cluster lost it.",
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
         "Remove it, or ask the site's operator to list it."},
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

/*  A first word that is a sign, a code in backquotes or an abbreviation stays as it is. */
static bool begins_with_a_capital(const char *text)
{
    return text[0] >= 'A' && text[0] <= 'Z' && !(text[1] >= 'A' && text[1] <= 'Z');
}

void helio_rejection_sentence(helio_text_t name, helio_buffer_t *out)
{
    for (uint32_t i = HELIO_REJECTION_NONE + 1; i < HELIO_REJECTION_COUNT; i++) {
        const char *meaning = rejections[i].meaning;
        if (!meaning || !helio_text_is(name, helio_rejection_name(i)))
            continue;
        const char *next = strstr(meaning, ". ");
        size_t size = next ? (size_t)(next - meaning) : strlen(meaning) - 1;
        bool lower = begins_with_a_capital(meaning);
        helio_buffer_printf(out, "%c%.*s", lower ? meaning[0] - 'A' + 'a' : meaning[0], (int)size - 1, meaning + 1);
        return;
    }
    helio_buffer_append(out, name.data, name.size);
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
             "`explanation` or `why` hold the text of a parser, a site or the system: they too are for people. In a "
             "sentence, `[…]` is omitted if a value in it is 0 or empty, and `{n|job|jobs}` is the singular or the "
             "plural, by that number.\n\n"
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
             "Words on which programs can branch. A word is never changed or removed; a new release can add words.\n\n"
             "## What a job waits for\n\n"
             "`reason` of a queued job, and of a refused submission. If several apply, it is the first of them in this "
             "list.\n\n"
             "| reason | meaning | what to do |\n|---|---|---|\n");
    for (uint32_t i = HELIO_REASON_NONE + 1; i < HELIO_REASON_COUNT; i++)
        row(out, helio_reason_name(i), NULL, helio_reason_doc(i));
    helio_buffer_text(out, "\n## Why a site is not a candidate\n\n"
                           "`reason` of each candidate in `helio explain` and `helio plan`, and `rejected_reason` of "
                           "`helio_report.placement_candidates`. The second column is the job's pending reason "
                           "if this is its best site.\n\n"
                           "| reason | the job waits with | meaning | what to do |\n|---|---|---|---|\n");
    for (uint32_t i = HELIO_REJECTION_NONE + 1; i < HELIO_REJECTION_COUNT; i++)
        row(out, helio_rejection_name(i), helio_reason_name(helio_rejection_group(i)), helio_rejection_doc(i));
    helio_buffer_text(out,
                      "\n## What a site reports about an attempt\n\n"
                      "`cause` in the details of a job that a site refused, lost or stopped, or that waits there.\n\n"
                      "| cause | meaning | what to do |\n|---|---|---|\n");
    for (uint32_t i = HELIO_CAUSE_NONE + 1; i < HELIO_CAUSE_COUNT; i++)
        row(out, helio_cause_name(i), NULL, helio_cause_doc(i));
    details_section(out);
}
