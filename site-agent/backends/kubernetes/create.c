/*  create.c -- an order becomes objects of the cluster. */
#include <stdio.h>
#include <string.h>

#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/shell.h"

enum { PRODUCTS_MAX = 64 };

static const helio_pool_t *pool_of(const helio_kube_attempt_t *attempt)
{
    const helio_site_profile_t *site = attempt->backend->site;
    for (uint32_t i = 0; i < site->pools.count; i++)
        if (helio_text_equal(site->pools.items[i].name, attempt->order.pool))
            return &site->pools.items[i];
    return NULL;
}

/*  The labels of the nodes whose GPU is the pool's. */
static void find_products(const helio_kube_attempt_t *attempt, helio_kube_manifest_t *manifest)
{
    helio_text_t *products = helio_arena_alloc(attempt->arena, PRODUCTS_MAX, sizeof *products);
    const char *key;
    json_t *node;
    manifest->products = products;
    json_object_foreach(attempt->backend->nodes.items, key, node)
    {
        helio_text_t product = helio_kube_text(HELIO_KUBE_AT(node, "metadata", "labels", HELIO_KUBE_PRODUCT));
        bool is_new = manifest->pool->gpu.size && helio_kube_is_product(product, manifest->pool);
        for (uint32_t i = 0; i < manifest->product_count; i++)
            is_new = is_new && !helio_text_equal(products[i], product);
        if (is_new && manifest->product_count < PRODUCTS_MAX)
            products[manifest->product_count++] = helio_arena_text(attempt->arena, product);
    }
}

static helio_text_t secret_of(const helio_kube_attempt_t *attempt)
{
    const helio_kubernetes_settings_t *settings = attempt->backend->settings;
    for (uint32_t i = 0; i < settings->secrets.count; i++)
        if (helio_text_is(settings->secrets.items[i].tenant, "*") ||
            helio_text_equal(settings->secrets.items[i].tenant, attempt->order.tenant))
            return settings->secrets.items[i].secret;
    return (helio_text_t){0};
}

static helio_text_t class_of(const helio_kube_attempt_t *attempt)
{
    const helio_kubernetes_settings_t *settings = attempt->backend->settings;
    for (uint32_t i = 0; i < settings->priority_classes.count; i++)
        if (helio_text_is(settings->priority_classes.items[i].queue, "*") ||
            helio_text_equal(settings->priority_classes.items[i].queue, attempt->spec.queue))
            return settings->priority_classes.items[i].priority_class;
    return (helio_text_t){0};
}

static bool is_welcome(const helio_kube_attempt_t *attempt)
{
    const helio_kubernetes_settings_t *settings = attempt->backend->settings;
    for (uint32_t i = 0; i < settings->tenants.count; i++)
        if (helio_text_equal(settings->tenants.items[i].text, attempt->order.tenant))
            return true;
    return settings->tenants.count == 0;
}

/*  What keeps it from running in this cluster. */
static helio_rc check(const helio_kube_attempt_t *attempt, helio_kube_manifest_t *manifest, uint32_t *ret_cause,
                      helio_error_t *err)
{
    *ret_cause = HELIO_CAUSE_NO_SUCH_POOL;
    if (!manifest->pool)
        return helio_fail(err, HELIO_NOT_FOUND, "the site file has no pool %.*s", HELIO_TEXT_ARGS(attempt->order.pool));
    *ret_cause = HELIO_CAUSE_NO_USER_MAPPING;
    if (!is_welcome(attempt))
        return helio_fail(err, HELIO_FORBIDDEN, "agent.kubernetes.tenants of the site does not name %.*s",
                          HELIO_TEXT_ARGS(attempt->order.tenant));
    helio_rc rc = helio_kube_options(&attempt->spec, manifest, ret_cause, err);
    if (rc)
        return rc;
    *ret_cause = HELIO_CAUSE_BAD_OPTION;
    if (attempt->leased && manifest->queue.size)
        return helio_fail(
            err, HELIO_FORBIDDEN,
            "with a queue of Kueue, the deadline of a Job begins late: jobs that name a queue need on_site_loss: strict");
    rc = helio_kube_manifest_check(manifest, ret_cause, err);
    if (rc)
        return rc;
    find_products(attempt, manifest);
    *ret_cause = HELIO_CAUSE_SUBMIT_FAILED;
    if (manifest->pool->gpu.size && !manifest->product_count)
        return helio_fail(err, HELIO_NOT_FOUND, "no node has the label " HELIO_KUBE_PRODUCT " of a %.*s",
                          HELIO_TEXT_ARGS(manifest->pool->gpu));
    return HELIO_OK;
}

static helio_rc fill(helio_kube_attempt_t *attempt, helio_kube_manifest_t *manifest, uint32_t *ret_cause,
                     helio_error_t *err)
{
    const helio_kube_t *self = attempt->backend;
    const helio_kubernetes_settings_t *settings = self->settings;
    if (!attempt->spec.image.size)
        attempt->spec.image = settings->image;
    *manifest = (helio_kube_manifest_t){
        .order = &attempt->order,
        .spec = &attempt->spec,
        .pool = pool_of(attempt),
        .site = self->site->name,
        .queue = settings->queue,
        .priority_class = class_of(attempt),
        .queues = {settings->job_queues.items, settings->job_queues.count},
        .priority_classes = {settings->job_priority_classes.items, settings->job_priority_classes.count},
        .service_account = settings->service_account,
        .secret = secret_of(attempt),
        .tolerated = self->tolerated,
        .tolerated_count = self->tolerated_count,
        .lease_ms = attempt->leased ? helio_kube_lease_left_ms(attempt) : 0,
        .retention_ms = self->rules->retention_ms};
    return check(attempt, manifest, ret_cause, err);
}

/* ---- the Job ------------------------------------------------------------------------------------------- */

/*  A create that was not answered may have been carried out: a look tells. */
static void on_created(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_attempt_t *attempt = arg;
    helio_kube_t *self = attempt->backend;
    char why[HELIO_KUBE_WHY_SIZE];
    (void)helio_text_copy(reply->message, why, sizeof why);
    bool heard = helio_kube_heard(attempt, reply);
    switch (reply->answer) {
    case HELIO_KUBE_DONE:
        if (!attempt->job) /* else a watch was faster */
            helio_kube_set_job(attempt, reply->document);
        attempt->due_ms = 0;
        break;
    case HELIO_KUBE_REFUSED:
        helio_kube_say_failed(attempt, HELIO_CAUSE_SUBMIT_REFUSED, why);
        break;
    case HELIO_KUBE_ABSENT: /* of the namespace */
        helio_kube_say_failed(attempt, HELIO_CAUSE_SUBMIT_FAILED, why);
        break;
    case HELIO_KUBE_BUSY:
    case HELIO_KUBE_STRANGER:
        attempt->posted = false;
        break;
    case HELIO_KUBE_DENIED:
        attempt->posted = false;
        if (self->now_ms - attempt->denied_ms >= HELIO_KUBE_DENIED_MS)
            helio_kube_say_failed(attempt, HELIO_CAUSE_SUBMIT_FAILED, why);
        break;
    case HELIO_KUBE_EXISTS:
    case HELIO_KUBE_CONFLICT:
    case HELIO_KUBE_EXPIRED:
    case HELIO_KUBE_UNKNOWN:
        attempt->confirm = true;
        if (heard)
            attempt->due_ms = 0;
        break;
    }
}

void helio_kube_create(helio_kube_attempt_t *attempt)
{
    helio_kube_t *self = attempt->backend;
    helio_kube_manifest_t manifest;
    helio_error_t err = {0};
    char path[HELIO_KUBE_PATH_SIZE];
    uint32_t cause;
    attempt->due_ms = self->now_ms + HELIO_KUBE_AGAIN_MS;
    if (!self->nodes.synced || (attempt->leased && !helio_kube_lease_left_ms(attempt)))
        return;
    if (fill(attempt, &manifest, &cause, &err)) {
        helio_kube_say_failed(attempt, cause, err.text);
        return;
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t body = {0};
    helio_kube_job(&manifest, &body);
    (void)snprintf(path, sizeof path, "/apis/batch/v1/namespaces/%s/jobs?fieldValidation=Strict", self->space);
    attempt->posted = helio_kube_ask(attempt, "POST", path, helio_buffer_view(&body), on_created);
}

/* ---- the Service of a gang ----------------------------------------------------------------------------- */

static void on_service(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_attempt_t *attempt = arg;
    bool denied = reply->answer == HELIO_KUBE_DENIED;
    if (!helio_kube_heard(attempt, reply) &&
        !(denied && attempt->backend->now_ms - attempt->denied_ms >= HELIO_KUBE_DENIED_MS))
        return;
    attempt->service = reply->answer == HELIO_KUBE_DONE || reply->answer == HELIO_KUBE_EXISTS;
    attempt->due_ms = 0;
    if (attempt->service || attempt->begun)
        return;
    attempt->service = attempt->given_up = true; /* ranks that do not find one another would hang */
    attempt->verdict =
        (helio_kube_verdict_t){.word = HELIO_BACKEND_REPORT_FAILED_TO_START, .cause = HELIO_CAUSE_SUBMIT_FAILED};
    (void)helio_text_copy(reply->message, attempt->verdict.why, sizeof attempt->verdict.why);
}

void helio_kube_create_service(helio_kube_attempt_t *attempt)
{
    char path[HELIO_KUBE_PATH_SIZE];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t body = {0};
    helio_order_t order = {.key = attempt->id.key, .epoch = attempt->id.epoch, .nodes = attempt->nodes};
    helio_kube_manifest_t manifest = {.order = &order, .site = attempt->backend->site->name};
    helio_kube_service(&manifest, helio_kube_text(HELIO_KUBE_AT(attempt->job, "metadata", "uid")), &body);
    (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/services?fieldValidation=Strict", attempt->backend->space);
    (void)helio_kube_ask(attempt, "POST", path, helio_buffer_view(&body), on_service);
}
