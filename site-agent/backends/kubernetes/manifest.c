/*  manifest.c -- an order becomes a Job. */
#include <stdio.h>

#include "federation/base/json.h"
#include "federation/reason/codes.h"
#include "site-agent/backends/kubernetes/manifest.h"
#include "site-agent/backends/kubernetes/resource.h"
#include "site-agent/shim/variables.h"

#define INDEX_PATH "metadata.annotations['batch.kubernetes.io/job-completion-index']"

/*  Runs the job's text and passes TERM on as the signal that the job asks for, since a pod is only ever sent TERM. */
#define FORWARD                                            \
    "sh -c \"$1\" & job=$!; trap 'kill -%.*s $job' TERM; " \
    "while :; do wait $job; code=$?; kill -0 $job 2>/dev/null || exit $code; done"

/*  A name that the site does not list is one that the job's owner has no business with: another team's quota, or a
 *  priority above the cluster's own pods. An empty one is such a name: it would leave the site's queue out. */
static helio_rc choose(const helio_pair_t *pair, const helio_kube_choice_t *choice, const char *key, helio_text_t *name,
                       helio_error_t *err)
{
    bool listed = pair->value.size && helio_text_equal(pair->value, *name);
    for (uint32_t i = 0; i < choice->count && pair->value.size && !listed; i++)
        listed = helio_text_equal(pair->value, choice->items[i].text);
    if (!listed)
        return helio_fail(err, HELIO_FORBIDDEN, "agent.kubernetes.%s of the site does not list the %.*s '%.*s'", key,
                          HELIO_TEXT_ARGS(pair->name), HELIO_TEXT_ARGS(pair->value));
    *name = pair->value;
    return HELIO_OK;
}

helio_rc helio_kube_options(const helio_job_spec_t *spec, helio_kube_manifest_t *manifest, uint32_t *ret_cause,
                            helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    *ret_cause = HELIO_CAUSE_OPTION_NOT_ALLOWED;
    for (uint32_t i = 0; i < spec->kubernetes.count && !rc; i++) {
        const helio_pair_t *pair = &spec->kubernetes.items[i];
        if (helio_text_is(pair->name, "queue")) {
            rc = choose(pair, &manifest->queues, "job_queues", &manifest->queue, err);
        } else if (helio_text_is(pair->name, "priority-class")) {
            rc = choose(pair, &manifest->priority_classes, "job_priority_classes", &manifest->priority_class, err);
        } else {
            *ret_cause = HELIO_CAUSE_BAD_OPTION;
            rc = helio_fail(err, HELIO_FORBIDDEN, "`kubernetes` takes queue and priority-class, not '%.*s'",
                            HELIO_TEXT_ARGS(pair->name));
        }
    }
    return rc;
}

helio_rc helio_kube_manifest_check(const helio_kube_manifest_t *self, uint32_t *ret_cause, helio_error_t *err)
{
    if (!self->spec->image.size) {
        *ret_cause = HELIO_CAUSE_BAD_OPTION;
        return helio_fail(err, HELIO_INVALID, "a pod needs an `image`, but the job names none");
    }
    if (self->spec->secrets.count && !self->secret.size) {
        *ret_cause = HELIO_CAUSE_MISSING_SECRET;
        return helio_fail(err, HELIO_NOT_FOUND, "the site keeps no secrets of this tenant");
    }
    return HELIO_OK;
}

/* ---- times --------------------------------------------------------------------------------------------- */

static uint64_t seconds(uint64_t ms)
{
    return (ms + 999) / 1000;
}

uint64_t helio_kube_grace_ms(const helio_job_spec_t *spec)
{
    uint64_t asked = helio_job_grace_ms(spec, 0);
    return asked > HELIO_KUBE_GRACE_LEAST_MS ? asked : HELIO_KUBE_GRACE_LEAST_MS;
}

static uint64_t limit_s(const helio_kube_manifest_t *self)
{
    uint64_t limit_ms = self->order->time_limit_ms;
    return limit_ms ? seconds(limit_ms + helio_kube_grace_ms(self->spec) + HELIO_KUBE_MARGIN_MS) : 0;
}

uint64_t helio_kube_deadline_s(const helio_kube_manifest_t *self)
{
    uint64_t limit = limit_s(self), lease = self->lease_ms / 1000;
    lease += self->lease_ms && !lease; /* 0 would be none */
    return lease && (!limit || lease < limit) ? lease : limit;
}

/* ---- environment --------------------------------------------------------------------------------------- */

/*  Kubernetes takes "$(NAME)" for a variable's value, and "$$" for "$", in commands and values: each "$" is doubled. */
static void put_literal(helio_json_writer_t *json, const char *name, helio_text_t value)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t literal = {0};
    for (uint32_t i = 0; i < value.size; i++)
        helio_buffer_append(&literal, value.data[i] == '$' ? "$$" : &value.data[i], value.data[i] == '$' ? 2 : 1);
    helio_json_put_text(json, name, helio_buffer_view(&literal));
}

static void put_variable(helio_json_writer_t *json, helio_text_t name, helio_text_t value)
{
    helio_json_begin_object(json, NULL);
    helio_json_put_text(json, "name", name);
    put_literal(json, "value", value);
    helio_json_end(json);
}

static void put_number(helio_json_writer_t *json, helio_variable_t variable, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put_variable(json, helio_text_of(helio_variable_name(variable)), helio_text_of(text));
}

static void put_hosts(const helio_kube_manifest_t *self, helio_json_writer_t *json, const char *name)
{
    helio_buffer_t hosts = {0};
    for (uint32_t i = 0; i < self->order->nodes && self->order->nodes > 1; i++)
        helio_buffer_printf(&hosts, "%s%s-%u.%s", i ? "," : "", name, i, name);
    if (self->order->nodes == 1)
        helio_buffer_text(&hosts, "localhost");
    put_variable(json, helio_text_of(helio_variable_name(HELIO_VARIABLE_HOSTS)), helio_buffer_view(&hosts));
    helio_buffer_clear(&hosts);
}

static void put_rank(const helio_kube_manifest_t *self, helio_json_writer_t *json)
{
    if (self->order->nodes == 1) {
        put_number(json, HELIO_VARIABLE_NODE_RANK, 0);
        return;
    }
    helio_json_begin_object(json, NULL);
    helio_json_put_string(json, "name", helio_variable_name(HELIO_VARIABLE_NODE_RANK));
    helio_json_begin_object(json, "valueFrom");
    helio_json_begin_object(json, "fieldRef");
    helio_json_put_string(json, "fieldPath", INDEX_PATH);
    helio_json_end(json);
    helio_json_end(json);
    helio_json_end(json);
}

static void put_secret(const helio_kube_manifest_t *self, helio_json_writer_t *json, helio_text_t name)
{
    helio_json_begin_object(json, NULL);
    helio_json_put_text(json, "name", name);
    helio_json_begin_object(json, "valueFrom");
    helio_json_begin_object(json, "secretKeyRef");
    helio_json_put_text(json, "name", self->secret);
    helio_json_put_text(json, "key", name);
    helio_json_end(json);
    helio_json_end(json);
    helio_json_end(json);
}

/*  The job's own first: of two entries with one name the last counts. */
static void put_environment(const helio_kube_manifest_t *self, helio_json_writer_t *json, const char *name)
{
    char id[HELIO_ID_SIZE];
    const helio_order_t *order = self->order;
    helio_uuid_text(order->key.job, id);
    helio_json_begin_array(json, "env");
    for (uint32_t i = 0; i < self->spec->env.count; i++)
        if (!helio_variable_is_ours(self->spec->env.items[i].name))
            put_variable(json, self->spec->env.items[i].name, self->spec->env.items[i].value);
    for (uint32_t i = 0; i < self->spec->secrets.count; i++)
        if (!helio_variable_is_ours(self->spec->secrets.items[i].text))
            put_secret(self, json, self->spec->secrets.items[i].text);
    put_variable(json, helio_text_of(helio_variable_name(HELIO_VARIABLE_JOB_ID)), helio_text_of(id));
    put_number(json, HELIO_VARIABLE_EPOCH, order->epoch);
    if (order->key.task != HELIO_NO_TASK)
        put_number(json, HELIO_VARIABLE_ARRAY_INDEX, (uint64_t)order->key.task);
    put_variable(json, helio_text_of(helio_variable_name(HELIO_VARIABLE_SITE)), self->site);
    put_number(json, HELIO_VARIABLE_RESUME, order->resume);
    put_number(json, HELIO_VARIABLE_NODES, order->nodes);
    put_rank(self, json);
    put_hosts(self, json, name);
    put_number(json, HELIO_VARIABLE_GPUS, order->gpus_per_node);
    helio_json_end(json);
}

/* ---- the pod ------------------------------------------------------------------------------------------- */

static void put_quantity(helio_json_writer_t *json, const char *name, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    if (value)
        helio_json_put_string(json, name, text);
}

/*  The GPU is named as a limit alone: its request is the same by definition. Memory is a limit too, CPUs are not. */
static void put_resources(const helio_kube_manifest_t *self, helio_json_writer_t *json)
{
    char resource[HELIO_KUBE_RESOURCE_SIZE];
    helio_kube_resource(self->pool, resource);
    helio_json_begin_object(json, "resources");
    helio_json_begin_object(json, "requests");
    put_quantity(json, "cpu", self->order->cpus_per_node);
    put_quantity(json, "memory", self->order->memory_bytes_per_node);
    helio_json_end(json);
    helio_json_begin_object(json, "limits");
    put_quantity(json, "memory", self->order->memory_bytes_per_node);
    if (resource[0])
        put_quantity(json, resource, self->order->gpus_per_node);
    helio_json_end(json);
    helio_json_end(json);
}

static void put_command(const helio_kube_manifest_t *self, helio_json_writer_t *json)
{
    helio_text_t signal = self->spec->checkpoint_signal;
    bool forwards = signal.size && !helio_text_is(signal, "TERM");
    helio_json_begin_array(json, "command");
    helio_json_put_string(json, NULL, "/bin/sh");
    helio_json_put_string(json, NULL, "-c");
    if (forwards) {
        char script[256];
        (void)snprintf(script, sizeof script, FORWARD, HELIO_TEXT_ARGS(signal));
        put_literal(json, NULL, helio_text_of(script));
        helio_json_put_string(json, NULL, "sh");
    }
    put_literal(json, NULL, self->spec->run);
    helio_json_end(json);
}

static void put_container(const helio_kube_manifest_t *self, helio_json_writer_t *json, const char *name)
{
    helio_json_begin_array(json, "containers");
    helio_json_begin_object(json, NULL);
    helio_json_put_string(json, "name", "main");
    helio_json_put_text(json, "image", self->spec->image);
    put_command(self, json);
    put_environment(self, json, name);
    put_resources(self, json);
    helio_json_end(json);
    helio_json_end(json);
}

static void put_tolerations(const helio_kube_manifest_t *self, helio_json_writer_t *json)
{
    helio_json_begin_array(json, "tolerations");
    for (uint32_t i = 0; i < self->tolerated_count; i++) {
        helio_json_begin_object(json, NULL);
        helio_json_put_string(json, "key", self->tolerated[i]);
        helio_json_put_string(json, "operator", "Exists");
        helio_json_end(json);
    }
    helio_json_end(json);
}

/*  Only nodes of the pool: one of the products that its GPU was recognized by. */
static void put_affinity(const helio_kube_manifest_t *self, helio_json_writer_t *json)
{
    if (!self->product_count)
        return;
    helio_json_begin_object(json, "affinity");
    helio_json_begin_object(json, "nodeAffinity");
    helio_json_begin_object(json, "requiredDuringSchedulingIgnoredDuringExecution");
    helio_json_begin_array(json, "nodeSelectorTerms");
    helio_json_begin_object(json, NULL);
    helio_json_begin_array(json, "matchExpressions");
    helio_json_begin_object(json, NULL);
    helio_json_put_string(json, "key", HELIO_KUBE_PRODUCT);
    helio_json_put_string(json, "operator", "In");
    helio_json_begin_array(json, "values");
    for (uint32_t i = 0; i < self->product_count; i++)
        helio_json_put_text(json, NULL, self->products[i]);
    for (uint32_t open = 0; open < 8; open++)
        helio_json_end(json);
}

static void put_pod(const helio_kube_manifest_t *self, helio_json_writer_t *json, const char *name)
{
    helio_json_begin_object(json, "spec");
    helio_json_put_string(json, "restartPolicy", "Never");
    helio_json_put_bool(json, "automountServiceAccountToken", false);
    helio_json_put_bool(json, "enableServiceLinks", false);
    helio_json_put_u64(json, "terminationGracePeriodSeconds", seconds(helio_kube_grace_ms(self->spec)));
    if (limit_s(self))
        helio_json_put_u64(json, "activeDeadlineSeconds", limit_s(self));
    if (self->service_account.size)
        helio_json_put_text(json, "serviceAccountName", self->service_account);
    if (self->priority_class.size)
        helio_json_put_text(json, "priorityClassName", self->priority_class);
    if (self->order->nodes > 1)
        helio_json_put_string(json, "subdomain", name);
    put_tolerations(self, json);
    put_affinity(self, json);
    put_container(self, json, name);
    helio_json_end(json);
}

/* ---- the objects --------------------------------------------------------------------------------------- */

/*  The pods carry them too, so that a list of pods can be limited to the site's. */
static void put_labels(const helio_kube_manifest_t *self, helio_json_writer_t *json, const char *name, bool queue)
{
    helio_json_begin_object(json, "labels");
    helio_json_put_string(json, "app.kubernetes.io/managed-by", "heliostat");
    helio_json_put_text(json, "heliostat/site", self->site);
    helio_json_put_string(json, "heliostat/attempt", name);
    if (queue && self->queue.size)
        helio_json_put_text(json, "kueue.x-k8s.io/queue-name", self->queue);
    helio_json_end(json);
}

static void put_job_spec(const helio_kube_manifest_t *self, helio_json_writer_t *json, const char *name)
{
    uint32_t nodes = self->order->nodes;
    helio_json_begin_object(json, "spec");
    helio_json_put_u64(json, "completions", nodes);
    helio_json_put_u64(json, "parallelism", nodes);
    helio_json_put_string(json, "completionMode", nodes > 1 ? "Indexed" : "NonIndexed");
    helio_json_put_u64(json, "backoffLimit", 0);
    helio_json_put_string(json, "podReplacementPolicy", "Failed");
    if (helio_kube_deadline_s(self))
        helio_json_put_u64(json, "activeDeadlineSeconds", helio_kube_deadline_s(self));
    helio_json_put_u64(json, "ttlSecondsAfterFinished", seconds(self->retention_ms));
    helio_json_put_bool(json, "suspend", self->queue.size > 0);
    helio_json_begin_object(json, "template");
    helio_json_begin_object(json, "metadata");
    put_labels(self, json, name, false);
    helio_json_end(json);
    put_pod(self, json, name);
    helio_json_end(json);
    helio_json_end(json);
}

void helio_kube_job(const helio_kube_manifest_t *self, helio_buffer_t *out)
{
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(self->order->key, self->order->epoch, name);
    helio_json_writer_t json = helio_json_indented_into(out);
    helio_json_begin_object(&json, NULL);
    helio_json_put_string(&json, "apiVersion", "batch/v1");
    helio_json_put_string(&json, "kind", "Job");
    helio_json_begin_object(&json, "metadata");
    helio_json_put_string(&json, "name", name);
    put_labels(self, &json, name, true);
    helio_json_end(&json);
    put_job_spec(self, &json, name);
    helio_json_end(&json);
}

static void put_owner(helio_json_writer_t *json, const char *name, helio_text_t uid)
{
    helio_json_begin_array(json, "ownerReferences");
    helio_json_begin_object(json, NULL);
    helio_json_put_string(json, "apiVersion", "batch/v1");
    helio_json_put_string(json, "kind", "Job");
    helio_json_put_string(json, "name", name);
    helio_json_put_text(json, "uid", uid);
    helio_json_end(json);
    helio_json_end(json);
}

void helio_kube_service(const helio_kube_manifest_t *self, helio_text_t job_uid, helio_buffer_t *out)
{
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(self->order->key, self->order->epoch, name);
    helio_json_writer_t json = helio_json_indented_into(out);
    helio_json_begin_object(&json, NULL);
    helio_json_put_string(&json, "apiVersion", "v1");
    helio_json_put_string(&json, "kind", "Service");
    helio_json_begin_object(&json, "metadata");
    helio_json_put_string(&json, "name", name);
    put_labels(self, &json, name, false);
    put_owner(&json, name, job_uid);
    helio_json_end(&json);
    helio_json_begin_object(&json, "spec");
    helio_json_put_string(&json, "clusterIP", "None");
    helio_json_put_bool(&json, "publishNotReadyAddresses", true); /* ranks look for one another before all have begun */
    helio_json_begin_object(&json, "selector");
    helio_json_put_string(&json, "heliostat/attempt", name);
    helio_json_end(&json);
    helio_json_end(&json);
    helio_json_end(&json);
}
