/*  doctor_sites.c -- one line on all sites, and one for each that gets no jobs although nothing else shows it. */
#include "client/commands/doctor_sites.h"

#include <string.h>

#include "client/commands/curtailed.h"
#include "client/commands/withheld.h"
#include "client/output/humanise.h"
#include "client/reasons/reply_details.h"
#include "client/transport/response.h"
#include "federation/base/clock.h"

typedef struct sites {
    const json_t *all;
    const json_t *keys; /* NULL = not known */
    size_t ready, refused, silent, forgetful, awaited, keyless;
    helio_buffer_t others; /* "; lulea is silent since 20:49:12Z; …" */
} sites_t;

static bool has(const json_t *site, const char *key)
{
    return helio_output_string(site, key)[0] != '\0';
}

static bool is_in(const json_t *site, const char *state)
{
    return strcmp(helio_output_string(site, "state"), state) == 0;
}

/*  False also where it is not known. */
static bool is_without_key(const sites_t *self, const json_t *site)
{
    size_t i;
    const json_t *key;
    json_array_foreach(self->keys, i, key)
    {
        if (!has(key, "revoked_at") && strcmp(helio_output_string(key, "site"), helio_output_string(site, "site")) == 0)
            return false;
    }
    return json_is_array(self->keys);
}

/*  "lulea is silent since 20:49:12Z"; with the date, if that was on another day. */
static void tell_silent(const helio_checkup_t *checkup, const json_t *site, const char *happens, helio_buffer_t *out)
{
    char today[HELIO_RFC3339_SIZE], since[HELIO_HUMAN_SIZE];
    helio_human_time(helio_output_string(site, "last_seen"), since);
    helio_rfc3339(checkup->client->output.wall_ms, today);
    bool same_day = strlen(since) > 11 && strncmp(since, today, 11) == 0;
    helio_buffer_printf(out, "; %.64s %s%s%.40s", helio_output_string(site, "site"), happens, since[0] ? " since " : "",
                        same_day ? since + 11 : since);
}

static void count_site(sites_t *self, const helio_checkup_t *checkup, const json_t *site)
{
    bool lost = is_in(site, "lost"), silent = lost || is_in(site, "silent");
    self->ready += is_in(site, "ready");
    self->refused += has(site, "refused");
    if (is_without_key(self, site))
        self->keyless++; /* an administrator wants it so, or has not finished: it has a line of its own */
    else if (silent) {
        self->silent++;
        tell_silent(checkup, site, lost ? "is lost" : "is silent", &self->others);
    } else if (is_in(site, "draining")) /* an operator wants it so */
        helio_buffer_printf(&self->others, "; %.64s is draining", helio_output_string(site, "site"));
    else if (is_in(site, "new") && !has(site, "unreconciled_at"))
        helio_buffer_printf(&self->others, "; %.64s has not joined yet", helio_output_string(site, "site"));
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t curtailed = {0};
    if (helio_curtailed_tell(checkup->client, site, &curtailed)) /* an operator wants it so */
        helio_buffer_printf(&self->others, "; %s", curtailed.data);
    if (has(site, "memory_lost_at")) {
        self->forgetful++;
        char at[HELIO_HUMAN_SIZE];
        helio_human_time(helio_output_string(site, "memory_lost_at"), at);
        helio_buffer_printf(&self->others, "; %.64s lost the memory of its agent at %s",
                            helio_output_string(site, "site"), at);
    }
    if (has(site, "unreconciled_at")) {
        self->awaited++;
        helio_buffer_printf(&self->others, "; the broker waits for %.64s since the database was restored",
                            helio_output_string(site, "site"));
    }
}

/*  What to do about most of it. */
static const char *remedy_of(const sites_t *self)
{
    if (self->refused)
        return "`helio sites` shows why they are refused";
    if (self->silent)
        return self->silent == 1
                   ? "look there whether its agent still runs, and start it if not (`systemctl start helio-agent`; in a "
                     "quickstart `deploy/quickstart.sh`); `helio-agent check` there tests its settings and the way to the broker; agents reconnect by "
                     "themselves within some seconds of a new leader"
                   : "look there whether their agents still run, and start those that do not (`systemctl start "
                     "helio-agent`; in a quickstart `deploy/quickstart.sh`); `helio-agent check` there tests the settings and the way to the broker; agents "
                     "reconnect by themselves within some seconds of a new leader";
    if (self->forgetful)
        return "jobs may still run there unseen: `helio sites` shows what to do";
    if (self->awaited)
        return "jobs wait for what it reports: `helio sites` shows what to do";
    return json_array_size(self->all) ? "`helio sites` shows since when; the logs of their agents say why"
                                      : "an administrator admits one with `helio keys add SITE KEY`";
}

static void say_all(const sites_t *self, helio_checkup_t *checkup)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_printf(&text, "%zu of %zu ready", self->ready, json_array_size(self->all));
    if (self->refused)
        helio_buffer_printf(&text, ", %zu refused", self->refused);
    if (self->forgetful)
        helio_buffer_printf(&text, ", %zu without memory", self->forgetful);
    helio_buffer_append(&text, self->others.data ? self->others.data : "", self->others.size);
    bool fails = self->silent || !self->ready;
    if (fails || self->refused || self->forgetful || self->awaited)
        helio_checkup_bad(checkup, fails ? HELIO_EXIT_FAILURE : HELIO_EXIT_OK, "sites", text.data, remedy_of(self));
    else
        helio_checkup_good(checkup, "sites", text.data);
}

/* ---- sites that are ready and offer nothing, or that have no key ---------------------------------------- */

static const struct {
    helio_detail_code_t code;
    const char *remedy;
} withheld[] = {
    {HELIO_DETAIL_WITHHELD_SURVEY,
     "it takes a moment after a start of the agent; if it stays so, `survey_incomplete` in the agent's log names what "
     "it cannot look at"},
    {HELIO_DETAIL_WITHHELD_UNKNOWN_RUN,
     "wait for that job's end, or look there for the process (`HELIO_JOB_ID` in its environment) and end it"},
    {HELIO_DETAIL_WITHHELD_SCHEDULER,
     "at the site, see whether `sinfo` and `squeue` answer; `scheduler_silent` in the agent's log has their errors"},
    {HELIO_DETAIL_WITHHELD_NODES,
     "at the site, `sinfo -R` says why nodes are down or drained; `pool_empty` in the agent's log says what it asked "
     "for"},
    {HELIO_DETAIL_WITHHELD_RESERVED,
     "it ends with the window or reservation: see `windows` in the site file, or `scontrol show reservation` there"},
    {HELIO_DETAIL_WITHHELD_OTHERS,
     "it ends with the others' work: see `squeue` or `nvidia-smi` there; `gpus_in_use` in the agent's log names them"},
    {HELIO_DETAIL_WITHHELD_STATE_GONE,
     "start the agent again, with `state_dir` on a disk that nothing empties; it looks for what runs there, and "
     "`state_gone` in its log names what was lost"},
    {HELIO_DETAIL_WITHHELD_PARTITION,
     "at the site, `scontrol show partition` has its state; `partition` of `agent.slurm.pools` names another one"},
    {HELIO_DETAIL_WITHHELD_LIMITS,
     "it ends with jobs of that account there; `scontrol show assoc_mgr` has its limits, and who uses them"},
    {HELIO_DETAIL_WITHHELD_GONE,
     "at the site, see `nvidia-smi`, and `gpus_gone` in the agent's log; `helio-agent check` names the MPS daemon"},
    {HELIO_DETAIL_WITHHELD_SHARED,
     "name the pool before the other one in the site file, or leave it out: jobs can name its partition themselves"},
};

static const char *remedy_of_pool(const json_t *pool)
{
    helio_detail_code_t code = helio_withheld_code(pool);
    for (size_t i = 0; i < sizeof withheld / sizeof withheld[0]; i++)
        if (code == withheld[i].code)
            return withheld[i].remedy;
    return "the log of the site's agent says more";
}

static void say_withheld(const helio_checkup_t *checkup, const json_t *site)
{
    size_t i;
    const json_t *pool;
    json_array_foreach(json_object_get(site, "pools"), i, pool)
    {
        const char *why = helio_withheld_text(site, pool);
        if (!why[0])
            continue;
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_buffer_printf(&text, "pool %.64s of %.64s offers nothing: %s", helio_output_string(pool, "pool"),
                            helio_output_string(site, "site"), why);
        helio_checkup_note(checkup, "pool", text.data, remedy_of_pool(pool));
    }
}

static void say_without_key(const helio_checkup_t *checkup, const json_t *site)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0}, remedy = {0};
    const char *name = helio_output_string(site, "site");
    helio_buffer_printf(&text, "%.64s has no key in force, so its agent cannot connect", name);
    helio_buffer_printf(
        &remedy,
        "`helio-agent keygen PATH` there makes a pair, and `helio keys add %.64s KEY` admits it; if the "
        "site is gone for good, `helio attest %.64s --dead --reason WHY` frees its jobs",
        name, name);
    helio_checkup_note(checkup, "key", text.data, remedy.data);
}

void helio_doctor_sites(helio_checkup_t *checkup, bool sees_keys)
{
    long status;
    HELIO_AUTO(helio_json_clear) json_t *reply = helio_checkup_look(checkup, "/v1/sites", &status);
    HELIO_AUTO(helio_json_clear) json_t *keys = sees_keys ? helio_checkup_look(checkup, "/v1/keys", &status) : NULL;
    sites_t self = {.all = json_is_array(reply) ? reply : json_object_get(reply, "sites"),
                    .keys = json_is_array(keys) ? keys : json_object_get(keys, "keys")};
    size_t i;
    const json_t *site;
    if (!json_is_array(self.all))
        return; /* the check of the identity has reported why */
    json_array_foreach(self.all, i, site) count_site(&self, checkup, site);
    say_all(&self, checkup);
    json_array_foreach(self.all, i, site)
    {
        if (is_without_key(&self, site))
            say_without_key(checkup, site);
        say_withheld(checkup, site);
    }
    helio_buffer_clear(&self.others);
}
