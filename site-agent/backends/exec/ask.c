/*  ask.c -- requests to the adapter: one line of JSON on its standard input, one run each. */
#include <stdio.h>

#include "site-agent/backends/exec/internal.h"

enum { HELD_MOST = 4096, COMPLAINT_MOST = 200, LEFT_MS = 2000 };

helio_json_writer_t helio_exec_request(const helio_exec_t *self, const char *op, helio_buffer_t *out)
{
    helio_json_writer_t json = helio_json_into(out);
    helio_json_begin_object(&json, NULL);
    helio_json_put_u64(&json, "helio", HELIO_EXEC_PROTOCOL);
    helio_json_put_string(&json, "op", op);
    helio_json_put_text(&json, "site", self->site.name);
    helio_json_put_string(&json, "folder", self->folder);
    return json;
}

bool helio_exec_run(helio_exec_t *self, const helio_buffer_t *request, size_t max_bytes, bool urgent,
                    helio_command_done_fn *done, void *arg)
{
    helio_command_t command = {.argv = self->argv,
                               .input = helio_buffer_view(request),
                               .timeout_ms = self->settings.timeout_ms,
                               .left_ms = LEFT_MS,
                               .max_bytes = max_bytes,
                               .done = done,
                               .arg = arg};
    return helio_commands_run(self->commands, &command, urgent, NULL) == HELIO_OK;
}

static bool finish(helio_exec_t *self, helio_json_writer_t *json, helio_buffer_t *out, size_t max_bytes, bool urgent,
                   helio_command_done_fn *done, void *arg)
{
    helio_json_end(json);
    helio_buffer_append(out, "\n", 1);
    return helio_exec_run(self, out, max_bytes, urgent, done, arg);
}

static void put_held(helio_json_writer_t *json, const helio_exec_attempt_t *attempt)
{
    helio_json_begin_object(json, NULL);
    helio_json_put_string(json, "name", attempt->held.name);
    helio_json_put_string(json, "id", attempt->id);
    helio_json_end(json);
}

bool helio_exec_ask_inventory(helio_exec_t *self, helio_command_done_fn *done)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_exec_request(self, "inventory", &text);
    helio_json_begin_array(&json, "held");
    uint32_t count = 0;
    for (const helio_exec_attempt_t *attempt = helio_exec_first(self); attempt && count < HELD_MOST;
         attempt = helio_exec_after(attempt))
        if (attempt->phase != HELIO_EXEC_AT_GONE && ++count)
            put_held(&json, attempt);
    helio_json_end(&json);
    return finish(self, &json, &text, HELIO_EXEC_LIST_BYTES, true, done, &self->poll);
}

static void put_resources(helio_json_writer_t *json, const helio_exec_attempt_t *attempt)
{
    const helio_order_t *order = &attempt->order;
    helio_json_put_text(json, "pool", order->pool);
    helio_json_put_u64(json, "nodes", order->nodes ? order->nodes : 1);
    helio_json_put_u64(json, "gpus", order->gpus_per_node);
    helio_json_put_u64(json, "cpus", order->cpus_per_node);
    helio_json_put_u64(json, "memory_bytes", order->memory_bytes_per_node);
    helio_json_put_u64(json, "limit_s", (order->time_limit_ms + 999) / 1000);
    helio_json_put_u64(json, "grace_s", (attempt->grace_ms + 999) / 1000);
}

bool helio_exec_ask_submit(helio_exec_attempt_t *attempt, const helio_unix_account_t *account,
                           helio_command_done_fn *done)
{
    helio_exec_t *self = attempt->backend;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_exec_request(self, "submit", &text);
    helio_json_put_string(&json, "name", attempt->held.name);
    helio_json_put_string(&json, "user", account->name);
    helio_json_put_u64(&json, "uid", account->uid);
    helio_json_put_text(&json, "tenant", attempt->order.tenant);
    helio_json_put_string(&json, "shim", self->shim);
    put_resources(&json, attempt);
    return finish(self, &json, &text, HELIO_EXEC_ANSWER_BYTES, false, done, attempt);
}

bool helio_exec_ask_about(helio_exec_attempt_t *attempt, const char *op, const char *mode, helio_command_done_fn *done)
{
    helio_exec_t *self = attempt->backend;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_exec_request(self, op, &text);
    helio_json_put_string(&json, "name", attempt->held.name);
    helio_json_put_string(&json, "id", attempt->id);
    if (mode)
        helio_json_put_string(&json, "mode", mode);
    return finish(self, &json, &text, HELIO_EXEC_ANSWER_BYTES, true, done, attempt);
}

static void ignore(void *arg, const helio_command_result_t *result)
{
    (void)arg;
    (void)result;
}

/*  What was not heard is said again by the next inventory that lists it. */
void helio_exec_ask_forget(helio_exec_t *self, const char *name)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_exec_request(self, "forget", &text);
    helio_json_put_string(&json, "name", name);
    (void)!finish(self, &json, &text, HELIO_EXEC_ANSWER_BYTES, false, ignore, NULL);
}

bool helio_exec_ask_lease(helio_exec_t *self, helio_command_done_fn *done)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_exec_request(self, "lease", &text);
    return finish(self, &json, &text, HELIO_EXEC_ANSWER_BYTES, true, done, &self->poll);
}

helio_rc helio_exec_answer(const helio_command_result_t *result, helio_arena_t *arena, helio_exec_answer_t *ret_answer,
                           helio_error_t *err)
{
    uint32_t size = result->complaint.size < COMPLAINT_MOST ? result->complaint.size : COMPLAINT_MOST;
    if (!result->spawned)
        return helio_fail(err, HELIO_UNAVAILABLE, "the adapter cannot be run: %.*s", (int)size, result->complaint.data);
    if (result->timed_out)
        return helio_fail(err, HELIO_TIMEOUT, "the adapter gave no answer in time");
    if (result->truncated)
        return helio_fail(err, HELIO_TOO_BIG, "the adapter prints without end");
    if (result->exit_code)
        return helio_fail(err, HELIO_UNAVAILABLE, "the adapter ended with %d: %.*s", result->exit_code, (int)size,
                          size ? result->complaint.data : "");
    return helio_exec_answer_read(result->out, arena, ret_answer, err);
}
