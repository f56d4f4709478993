/*  targets.c -- the table of the keys of notify.yaml, its page, and who wants what. */
#include "client/notify/core/targets.h"

#include <stddef.h>
#include <string.h>

#include "federation/policy/choice.h"
#include "federation/spec/reader.h"

#define WORD(name, word, doc) word,
static const char *const event_names[] = {HELIO_NOTIFY_EVENT_TABLE(WORD) "test"};
static const char *const format_names[] = {"json", "slack"};

const char *helio_notify_event_name(helio_notify_event_t event)
{
    return event_names[event];
}

static const char *format_name(uint32_t value)
{
    return format_names[value];
}

static helio_rc format_of(helio_text_t word, uint32_t *ret_value)
{
    return helio_text_among(word, format_names, HELIO_NOTIFY_FORMAT_COUNT, ret_value);
}

static const helio_spec_enum_t formats = {format_name, format_of, HELIO_NOTIFY_FORMAT_COUNT};

/* ---- rules -------------------------------------------------------------------------------------------------- */

static bool is_event(helio_text_t text)
{
    uint32_t place;
    return helio_text_among(text, event_names, HELIO_NOTIFY_EVENT_COUNT, &place) == HELIO_OK;
}

static bool begins_with(helio_text_t text, const char *start)
{
    size_t size = strlen(start);
    return text.size > size && memcmp(text.data, start, size) == 0;
}

static bool is_url(helio_text_t text)
{
    return begins_with(text, "https://") || begins_with(text, "http://");
}

/*  It names a target in logs and in the state. */
static bool is_name(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", text.data[i]))
            return false;
    return text.size > 0;
}

/*  Names of users can have characters that names of queues cannot. */
static bool is_pattern(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return false;
    return text.size > 0 && text.size <= 128 && !helio_text_is(text, "!");
}

static const helio_spec_rule_t pattern_rule = {is_pattern,
                                               "a name that may contain *, with a leading '!' to exclude it", NULL};
static const helio_spec_rule_t event_rule = {
    is_event, "one of job_started, job_ended, job_failed, job_held, deadline_at_risk, budget_near", NULL};
static const helio_spec_rule_t url_rule = {is_url, "a URL with https:// or http://", NULL};
static const helio_spec_rule_t name_rule = {is_name, "letters, digits, '.', '_' and '-'", NULL};

static const helio_spec_node_t *node_of(const helio_spec_node_t *mapping, const char *key)
{
    const helio_spec_node_t *found = helio_spec_find(mapping, key);
    return found ? found : mapping;
}

static helio_rc check_target(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    const helio_notify_target_t *self = ret_struct;
    bool by_url = self->url.size || self->url_file.size;
    int ways = (self->url.size ? 1 : 0) + (self->url_file.size ? 1 : 0) + (self->command.count ? 1 : 0);
    if (ways == 0)
        return helio_spec_diagnose(reader, node, HELIO_SPEC_MISSING_PROBLEM, "give `url`, `url_file` or `command`",
                                   "the target '%.*s' says not where it sends to", HELIO_TEXT_ARGS(self->name));
    if (ways > 1)
        return helio_spec_diagnose(reader, node, HELIO_SPEC_CONTRADICTION_PROBLEM, "make two targets of it",
                                   "a target has one of `url`, `url_file` and `command`");
    if (by_url && self->format == HELIO_NOTIFY_JSON && !self->secret_file.size)
        return helio_spec_diagnose(reader, node, HELIO_SPEC_MISSING_PROBLEM,
                                   "make one with `(umask 077; openssl rand -base64 32 >secret)` and name it here; the "
                                   "receiver checks the signature with it",
                                   "`secret_file` is missing, with which bodies are signed");
    if (!by_url && (self->secret_file.size || self->ca_file.size))
        return helio_spec_diagnose(reader, node_of(node, self->secret_file.size ? "secret_file" : "ca_file"),
                                   HELIO_SPEC_CONTRADICTION_PROBLEM, "remove it",
                                   "a command is sent nothing over HTTP");
    if (self->ca_file.size && begins_with(self->url, "http://"))
        return helio_spec_diagnose(reader, node_of(node, "ca_file"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                   "use https:// in `url`", "`ca_file` is for https");
    return HELIO_OK;
}

static helio_rc check_file(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    const helio_notify_settings_t *self = ret_struct;
    for (uint32_t i = 0; i < self->targets.count; i++)
        for (uint32_t other = 0; other < i; other++)
            if (helio_text_equal(self->targets.items[i].name, self->targets.items[other].name))
                return helio_spec_diagnose(reader, node_of(node, "targets"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                           "rename one: the name tells their deliveries apart",
                                           "two targets have the name '%.*s'",
                                           HELIO_TEXT_ARGS(self->targets.items[i].name));
    return HELIO_OK;
}

/* ---- the table ---------------------------------------------------------------------------------------------- */

#define AT(member) .offset = offsetof(helio_notify_target_t, member)
#define PATTERNS(member, what)                                                                      \
    {                                                                                               \
        .key = #member, .kind = HELIO_SPEC_STRINGS, AT(member), .most = 256, .rule = &pattern_rule, \
        .doc = "Only what concerns these " what                                                     \
    }

static const helio_spec_field_t target_fields[] = {
    {.key = "name",
     .kind = HELIO_SPEC_TEXT,
     AT(name),
     .required = true,
     .most = 64,
     .rule = &name_rule,
     .example = "team-chat",
     .doc = "Name of the target. What waits for a target in `state` is found by its name."},
    {.key = "url",
     .kind = HELIO_SPEC_TEXT,
     AT(url),
     .most = 2048,
     .rule = &url_rule,
     .example = "https://hooks.example/heliostat",
     .doc = "Where to send each event with POST."},
    {.key = "url_file",
     .kind = HELIO_SPEC_PATH,
     AT(url_file),
     .most = 1024,
     .example = "chat-url",
     .doc =
         "File that holds the URL, for URLs that are secrets themselves. Only its owner may be able to read it (mode 0600)."},
    {.key = "command",
     .kind = HELIO_SPEC_STRINGS,
     AT(command),
     .most = 64,
     .example = "[/usr/share/heliostat/notify/mail, oncall@example.org]",
     .doc = "Program to run for each event, and its arguments. No shell is involved. It gets the body on standard "
            "input and HELIO_ variables in its environment; exit code 0 means that the event was delivered."},
    {.key = "secret_file",
     .kind = HELIO_SPEC_PATH,
     AT(secret_file),
     .most = 1024,
     .example = "hook-secret",
     .doc =
         "File with the secret that signs the bodies, `whsec_` and base64, or any text. Only its owner may be able to "
         "read it (mode 0600). Required for a URL with format `json`."},
    {.key = "ca_file",
     .kind = HELIO_SPEC_PATH,
     AT(ca_file),
     .most = 1024,
     .doc = "Certificates to trust in place of the system's. Such a target is reached without a proxy."},
    {.key = "on",
     .kind = HELIO_SPEC_STRINGS,
     AT(on),
     .required = true,
     .most = HELIO_NOTIFY_EVENT_COUNT,
     .rule = &event_rule,
     .example = "[job_failed, job_held]",
     .doc = "The events that are sent: `job_started`, `job_ended`, `job_failed`, `job_held`, `deadline_at_risk`, "
            "`budget_near`."},
    PATTERNS(tenants, "tenants, by patterns with `*`; `!` excludes."),
    PATTERNS(users, "users' jobs. Not for `budget_near`, which has no user."),
    PATTERNS(queues, "queues."),
    PATTERNS(names, "names of jobs. Not for `budget_near`, which has no job."),
    {.key = "format",
     .kind = HELIO_SPEC_CHOICE,
     AT(format),
     .words = &formats,
     .fallback = "json",
     .example = "slack",
     .doc =
         "`json`: event, job and sentence. `slack`: the sentence alone, as chat services of the kind of Slack take it "
         "(`{\"text\": …}`)."},
    {.key = "timeout",
     .kind = HELIO_SPEC_DURATION,
     AT(timeout_ms),
     .least = 100,
     .most = 600000,
     .fallback = "10s",
     .example = "30s",
     .doc = "How long one attempt may take. A command is killed then, with what it has started."},
    {.key = "retry_for",
     .kind = HELIO_SPEC_DURATION,
     AT(retry_for_ms),
     .least = 1000,
     .most = 30.0 * 86400000,
     .fallback = "24h",
     .example = "6h",
     .doc = "How long a delivery is tried again before it is given up."},
    {.key = "keep",
     .kind = HELIO_SPEC_U32,
     AT(keep),
     .least = 1,
     .most = HELIO_NOTIFY_KEEP_MAX,
     .fallback = "10000",
     .example = "1000",
     .doc = "How many deliveries may wait for this target. Beyond that the oldest are dropped, and the log says so."},
};
static const helio_spec_table_t target_table =
    HELIO_SPEC_TABLE("target", helio_notify_target_t, target_fields, check_target);

static const helio_spec_field_t fields[] = {
    {.key = "state",
     .kind = HELIO_SPEC_PATH,
     .offset = offsetof(helio_notify_settings_t, state),
     .required = true,
     .most = 1024,
     .example = "/var/lib/helio-notify",
     .doc =
         "Folder of what has been read and what waits to be delivered; made if it is missing. One process uses it at a time."},
    {.key = "targets",
     .kind = HELIO_SPEC_LIST,
     .offset = offsetof(helio_notify_settings_t, targets),
     .required = true,
     .most = HELIO_NOTIFY_TARGETS_MAX,
     .table = &target_table,
     .doc = "Who is told what."},
};
const helio_spec_table_t helio_notify_table = HELIO_SPEC_TABLE("notify", helio_notify_settings_t, fields, check_file);

void helio_notify_settle(helio_notify_settings_t *self)
{
    for (uint32_t i = 0; i < self->targets.count; i++) {
        helio_notify_target_t *target = &self->targets.items[i];
        for (uint32_t at = 0; at < target->on.count; at++) {
            uint32_t event;
            if (helio_text_among(target->on.items[at].text, event_names, HELIO_NOTIFY_EVENT_COUNT, &event) == HELIO_OK)
                target->events |= UINT32_C(1) << event;
        }
    }
}

/* ---- the page ----------------------------------------------------------------------------------------------- */

static const char example[] = "state: /var/lib/helio-notify\n"
                              "targets:\n"
                              "  - name: pager\n"
                              "    url: https://hooks.example/heliostat\n"
                              "    secret_file: hook-secret\n"
                              "    on: [job_failed, job_held, deadline_at_risk]\n"
                              "    queues: [\"critical*\"]\n"
                              "  - name: team-chat\n"
                              "    url_file: chat-url\n"
                              "    format: slack\n"
                              "    on: [job_ended, budget_near]\n"
                              "    tenants: [nlp]\n"
                              "  - name: mail\n"
                              "    command: [/usr/share/heliostat/notify/mail, oncall@example.org]\n"
                              "    on: [job_held, budget_near]\n"
                              "    retry_for: 6h\n";

void helio_notify_page(helio_buffer_t *out)
{
    helio_buffer_text(out, "# The file of `helio notify`\n\n<!-- Generated from client/notify/core/targets.c; the test "
                           "of this page writes it. -->\n\n[Notifications](../notify.md) says what is sent, and how a "
                           "receiver checks it. Paths are relative to the file.\n\n## Example\n\n```yaml\n");
    helio_buffer_text(out, example);
    helio_buffer_text(out, "```\n\n## Keys\n\n");
    helio_spec_reference(&helio_notify_table, out);
    helio_buffer_text(out, "\n## Events\n\n| event | when |\n|---|---|\n");
#define LINE(name, word, doc) helio_buffer_text(out, "| `" word "` | " doc " |\n");
    HELIO_NOTIFY_EVENT_TABLE(LINE)
#undef LINE
}

/* ---- who wants what ----------------------------------------------------------------------------------------- */

static bool names(const helio_notify_target_t *self, helio_notify_event_t event)
{
    return (self->events >> event) & 1;
}

static bool allows(const helio_notify_list_t *patterns, helio_text_t text)
{
    return !patterns->count || (text.size && helio_patterns_allow(patterns->items, patterns->count, text));
}

bool helio_notify_might_want(const helio_notify_target_t *self, helio_notify_event_t event,
                             const helio_notify_subject_t *subject)
{
    bool named = names(self, event) || (event == HELIO_NOTIFY_JOB_FAILED && names(self, HELIO_NOTIFY_JOB_ENDED));
    return named && allows(&self->tenants, subject->tenant) && allows(&self->queues, subject->queue) &&
           allows(&self->names, subject->name);
}

bool helio_notify_wants(const helio_notify_target_t *self, helio_notify_event_t event,
                        const helio_notify_subject_t *subject, helio_notify_event_t *ret_event)
{
    if (!helio_notify_might_want(self, event, subject) || !allows(&self->users, subject->user))
        return false;
    *ret_event = names(self, event) ? event : HELIO_NOTIFY_JOB_ENDED;
    return true;
}

bool helio_notify_any_wants(const helio_notify_settings_t *self, helio_notify_event_t event)
{
    for (uint32_t i = 0; i < self->targets.count; i++)
        if (names(&self->targets.items[i], event))
            return true;
    return false;
}
