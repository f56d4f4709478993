/*  drafts.c -- reads, checks, sends and prints drafts of jobs. */
#include "client/jobs/drafts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "client/invocation/command.h"
#include "client/reasons/reply_details.h"
#include "client/transport/escape.h"
#include "client/transport/response.h"
#include "federation/base/suggest.h"
#include "federation/model/label.h"

/*  ---- reading ---- */

int helio_source_read(helio_client_t *client, const char *path, helio_text_t *ret_text)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *stream = is_stdin ? client->io->in : fopen(path, "re");
    if (!stream)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "%s: %s", path, strerror(errno));
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {.max = HELIO_SPEC_STREAM_MAX};
    char piece[65536];
    size_t size;
    while (!text.overflow && (size = fread(piece, 1, sizeof piece, stream)) > 0)
        helio_buffer_append(&text, piece, size);
    bool failed = ferror(stream) != 0;
    int cause = errno;
    if (!is_stdin)
        (void)fclose(stream);
    if (helio_client_interrupts(client->io))
        return HELIO_EXIT_INTERRUPTED;
    if (failed)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "%s: %s", path, strerror(cause));
    if (text.overflow)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "%s: larger than %d MiB; submit it in pieces", path,
                                 HELIO_SPEC_STREAM_MAX >> 20);
    *ret_text = helio_arena_text(client->arena, helio_buffer_view(&text));
    return HELIO_EXIT_OK;
}

void helio_diagnostic_print(const helio_client_t *client, const helio_diagnostic_t *diagnostic)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const helio_client_io_t *io = client->io;
    bool colour = io->err_tty && client->output.colour;
    helio_diagnostic_text(diagnostic, colour, &text);
    fputs(text.data ? text.data : "", io->err);
}

static void print_all(const helio_client_t *client, const helio_diagnostics_t *wrong)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_diagnostics_text(wrong, client->io->err_tty && client->output.colour, &text);
    fputs(text.data ? text.data : "", client->io->err);
}

static bool is_json(helio_text_t text)
{
    if (!memchr(text.data ? text.data : "", '{', text.size))
        return false;
    json_t *json = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object(json);
    json_decref(json);
    return good;
}

/*  Of what the document says: separators, blank lines and comments before it are skipped. */
static uint32_t first_line(helio_spec_source_t part)
{
    uint32_t line = part.line ? part.line : 1;
    const char *at = part.text.data, *end = at + part.text.size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        bool marked = end - at >= 3 && memcmp(at, "---", 3) == 0 && (at + 3 == end || strchr(" \r\n", at[3]));
        bool empty = at == stop || *at == '\r' || *at == '#' || (marked && stop && stop - at <= 4);
        if (!stop || !empty)
            break;
        at = stop + 1;
        line++;
    }
    return line;
}

/*  Parses one part only to validate it: the broker gets the exact bytes. Each part has an arena of its own, because a
 *  stream can hold a hundred thousand parts. Returns the number of errors printed. */
static uint32_t check_part(helio_client_t *client, helio_spec_source_t part, helio_draft_t *ret_draft)
{
    helio_arena_t *arena = helio_arena_new();
    helio_job_spec_t spec;
    helio_diagnostics_t wrong;
    bool good = helio_spec_judge(&helio_spec_job_table, part, HELIO_JOB_SOURCE_MAX, arena, &spec, &wrong) == HELIO_OK;
    if (good)
        *ret_draft = (helio_draft_t){.text = part.text,
                                     .json = is_json(part.text),
                                     .is_array = spec.tasks.count > 0,
                                     .file = part.name,
                                     .line = first_line(part),
                                     .name = helio_arena_string(client->arena, spec.name),
                                     .home = helio_arena_string(client->arena, spec.home)};
    else
        print_all(client, &wrong);
    helio_arena_destroy(&arena);
    return good ? 0 : wrong.count;
}

static int read_file(helio_client_t *client, const char *path, helio_drafts_t *drafts)
{
    helio_text_t text;
    int code = helio_source_read(client, path, &text);
    if (code != HELIO_EXIT_OK)
        return code;
    helio_spec_parts_t parts;
    helio_diagnostic_t diagnostic;
    helio_spec_source_t source = {.text = text, .name = strcmp(path, "-") == 0 ? "stdin" : path};
    if (helio_spec_split(source, client->arena, &parts, &diagnostic) != HELIO_OK) {
        helio_diagnostic_print(client, &diagnostic);
        return HELIO_EXIT_USAGE;
    }
    helio_draft_t *items = helio_arena_alloc(client->arena, (size_t)drafts->count + parts.count, sizeof *items);
    if (drafts->count)
        memcpy(items, drafts->items, drafts->count * sizeof *items);
    uint32_t good = 0, complaints = 0;
    for (uint32_t i = 0; i < parts.count && complaints < HELIO_SUBMIT_COMPLAINTS_MAX; i++) {
        uint32_t count = check_part(client, parts.items[i], &items[drafts->count + good]);
        complaints += count;
        good += count == 0;
    }
    drafts->items = items;
    drafts->count += good;
    return complaints ? HELIO_EXIT_USAGE : HELIO_EXIT_OK;
}

int helio_drafts_read(helio_client_t *client, const char *const *paths, uint32_t count, helio_drafts_t *ret_drafts)
{
    helio_drafts_t drafts = {0};
    int worst = HELIO_EXIT_OK;
    for (uint32_t i = 0; i < count; i++) {
        int code = read_file(client, paths[i], &drafts);
        if (code != HELIO_EXIT_OK)
            worst = code;
    }
    if (worst == HELIO_EXIT_OK)
        *ret_drafts = drafts;
    else if (count > 1 || drafts.count)
        helio_client_say(client, "nothing was submitted");
    return worst;
}

int helio_draft_make(helio_client_t *client, helio_text_t text, const char *name, helio_drafts_t *ret_drafts)
{
    helio_draft_t *draft = helio_arena_alloc(client->arena, 1, sizeof *draft);
    if (check_part(client, (helio_spec_source_t){.text = text, .name = name}, draft) != 0)
        return HELIO_EXIT_USAGE;
    *ret_drafts = (helio_drafts_t){.items = draft, .count = 1};
    return HELIO_EXIT_OK;
}

/*  ---- sending ---- */

static bool random_key(char *ret_key, size_t size)
{
    uint8_t bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes && 2 * i + 2 < size; i++)
        (void)snprintf(ret_key + 2 * i, size - 2 * i, "%02x", bytes[i]);
    return true;
}

/*  How many drafts, from `first` on, go into one request. */
static uint32_t batch_size(const helio_drafts_t *drafts, uint32_t first)
{
    uint32_t count = 0;
    for (size_t bytes = 0; first + count < drafts->count && count < HELIO_SUBMIT_BATCH_JOBS; count++) {
        bytes += drafts->items[first + count].text.size + 8;
        if (count && bytes > HELIO_SUBMIT_BATCH_BYTES)
            break;
    }
    return count;
}

/*  The separator of two YAML documents: the second may begin with its own `---`, or with a directive. */
static void yaml_separator(helio_text_t next, helio_buffer_t *out)
{
    if (out->data[out->size - 1] != '\n')
        helio_buffer_text(out, "\n");
    bool marked = next.size >= 3 && memcmp(next.data, "---", 3) == 0;
    bool directive = next.size && next.data[0] == '%';
    helio_buffer_text(out, marked ? "" : directive ? "...\n" : "---\n");
}

/*  Joins documents without changing any of their bytes. Returns the content type. */
static const char *compose(const helio_draft_t *drafts, uint32_t count, helio_buffer_t *out)
{
    bool json = true;
    for (uint32_t i = 0; i < count; i++)
        json &= drafts[i].json;
    if (json && count > 1)
        helio_buffer_text(out, "{\"jobs\":[");
    for (uint32_t i = 0; i < count; i++) {
        if (i && json)
            helio_buffer_text(out, ",");
        else if (i)
            yaml_separator(drafts[i].text, out);
        helio_buffer_append(out, drafts[i].text.data, drafts[i].text.size);
    }
    if (json && count > 1)
        helio_buffer_text(out, "]}");
    return json ? "application/json" : "application/yaml";
}

static bool take_ids(const json_t *reply, helio_draft_t *drafts, uint32_t count)
{
    const json_t *list = json_object_get(reply, "jobs");
    if (!json_is_array(list) && count != 1)
        return false;
    if (json_is_array(list) && json_array_size(list) != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const json_t *job = json_is_array(list) ? json_array_get(list, i) : reply;
        const char *id = helio_output_string(job, "id");
        helio_job_key_t key;
        if (helio_job_key_parse(helio_text_of(id), &key) != HELIO_OK)
            return false;
        helio_job_key_text(key, drafts[i].id);
        drafts[i].existed = json_is_true(json_object_get(job, "existed"));
    }
    return true;
}

/*  The job of a batch that a refusal is about, from 1: the parameter `job` of its details, or the document that cannot
 *  be read. 0: none of them alone, or the only one. */
static uint32_t refused_job(helio_text_t body, uint32_t count)
{
    HELIO_AUTO(helio_json_clear)
    json_t *problem = json_loadb(body.size ? body.data : "", body.size, 0, NULL);
    const json_t *document = json_object_get(problem, "document");
    json_int_t job = json_integer_value(helio_reply_param(json_object_get(problem, "details"), "job"));
    if (json_is_integer(document) && json_integer_value(document) < (json_int_t)count) /* from 0 */
        job = json_integer_value(document) + 1;
    return job > 0 && job <= (json_int_t)count ? (uint32_t)job : 0;
}

/*  The broker knows the number of a job in the request, and the user the files. */
static void say_where(const helio_client_t *client, const helio_draft_t *drafts, uint32_t count, helio_text_t body)
{
    uint32_t job = refused_job(body, count);
    if (!job)
        return;
    const helio_draft_t *draft = &drafts[job - 1];
    helio_client_say(
        client, "job %u is the one at %.200s:%u%s%.64s%s; none of the %u jobs of this request was submitted", job,
        draft->file, draft->line, draft->name[0] ? " (" : "", draft->name, draft->name[0] ? ")" : "", count);
}

/*  As helio_ask, but a refusal is also told by file and line. *ret_sent: some of the request was sent. */
static int ask_for_jobs(helio_client_t *client, const helio_request_t *request, const helio_draft_t *drafts,
                        uint32_t count, json_t **ret_reply, bool *ret_sent)
{
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    helio_error_t err;
    helio_rc rc = helio_remote_call(client->remote, request, &response, &err);
    *ret_sent = response.sent;
    if (rc != HELIO_OK)
        return helio_response_print_rc(client, rc, &err);
    helio_text_t body = helio_buffer_view(&response.body);
    if (response.status >= 200 && response.status <= 299) {
        *ret_reply = json_loadb(body.size ? body.data : "", body.size, 0, NULL);
        return HELIO_EXIT_OK; /* an answer that is not JSON names no job, and is reported as such */
    }
    int code = helio_response_print_error(client, response.status, body, response.retry_after_ms);
    say_where(client, drafts, count, body);
    return code;
}

/*  Those of the command line: the documents are sent as they are. */
static void add_labels(const helio_client_t *client, helio_buffer_t *path)
{
    const helio_option_values_t *given = &client->arguments->values[HELIO_OPTION_LABEL];
    for (uint32_t i = 0; i < given->count; i++) {
        helio_buffer_text(path, i ? "%2C" : "?label=");
        helio_url_escape(given->items[i], path);
    }
}

static bool labels_are_good(const helio_client_t *client)
{
    const helio_option_values_t *given = &client->arguments->values[HELIO_OPTION_LABEL];
    helio_text_t key, value;
    for (uint32_t i = 0; i < given->count; i++)
        if (!helio_label_split(helio_text_of(given->items[i]), false, &key, &value)) {
            (void)helio_client_fail(
                client, HELIO_EXIT_USAGE,
                "--label: '%.64s' is not a label\nhelp: write KEY=VALUE, each of at most 63 letters, digits, '.', '_' "
                "and '-' that begin and end with a letter or digit",
                given->items[i]);
            return false;
        }
    return true;
}

static int send_batch(helio_client_t *client, helio_draft_t *drafts, uint32_t count, const char *key, bool *ret_sent)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t body = {0};
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    const char *type = compose(drafts, count, &body);
    helio_buffer_text(&path, "/v1/jobs");
    add_labels(client, &path);
    helio_request_t request = {.method = "POST",
                               .path = path.data,
                               .content_type = type,
                               .body = helio_buffer_view(&body),
                               .idempotency_key = key,
                               .patient = strcmp(client->command->name, "run") == 0,
                               .waits_for = client};
    int code = ask_for_jobs(client, &request, drafts, count, &reply, ret_sent);
    if (code == HELIO_EXIT_OK && !take_ids(reply, drafts, count))
        return helio_client_fail(
            client, HELIO_EXIT_OWN,
            "the broker's answer does not name %u jobs; do the versions of helio and the broker differ?\nhelp: the "
            "jobs may have been accepted; `helio ls` shows them",
            count);
    const char *note = helio_output_string(reply, "note");
    if (code == HELIO_EXIT_OK && note[0])
        helio_client_say(client, "note: %.400s", note);
    return code;
}

static bool key_is_good(const char *key)
{
    size_t size = strlen(key);
    for (size_t i = 0; i < size; i++)
        if (key[i] <= ' ' || key[i] > '~')
            return false;
    return size > 0 && size <= HELIO_SUBMIT_KEY_MAX;
}

/*  Once anything was sent, the outcome of the submission is unknown: without the key, a second try could create a second
 *  job. */
static void say_key(const helio_client_t *client, int code, const char *key, bool sent)
{
    if (code != HELIO_EXIT_UNREACHABLE && code != HELIO_EXIT_TIMEOUT && code != HELIO_EXIT_INTERRUPTED)
        return;
    if (!sent)
        fprintf(client->io->err, "help: nothing was sent; repeat the command when the broker can be reached\n");
    else
        fprintf(client->io->err,
                "help: the broker may have accepted the jobs; repeat the command with `--idempotency-key %s`, which "
                "never creates a second job\n",
                key);
}

static bool is_listed(const json_t *sites, const char *site, helio_suggestion_t *near)
{
    size_t i;
    const json_t *row;
    json_array_foreach(sites, i, row)
    {
        const char *name = helio_output_string(row, "site");
        if (strcmp(name, site) == 0)
            return true;
        helio_suggestion_offer(near, name);
    }
    return false;
}

void helio_drafts_note_home(const helio_client_t *client, const helio_drafts_t *drafts)
{
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    const char *said = "";
    for (uint32_t i = 0; i < drafts->count; i++) {
        const char *home = drafts->items[i].home;
        helio_suggestion_t near = {.written = helio_text_of(home ? home : "")};
        if (!home || !home[0] || strcmp(home, said) == 0)
            continue;
        helio_error_t err; /* a note is worth one request; if that fails, none is printed */
        if (!reply &&
            helio_remote_call(client->remote, &(helio_request_t){.path = "/v1/sites", .once = true}, &response, &err) ==
                HELIO_OK &&
            response.status == 200)
            reply = json_loadb(response.body.data ? response.body.data : "", response.body.size, 0, NULL);
        const json_t *sites = json_is_array(reply) ? reply : json_object_get(reply, "sites");
        if (!json_is_array(sites))
            return;
        said = home;
        if (!is_listed(sites, home, &near))
            helio_client_say(client,
                             "note: home: no known site is named '%.64s'%s%.64s%s; `helio sites` lists the "
                             "sites",
                             home, near.best ? " (did you mean '" : "", near.best ? near.best : "",
                             near.best ? "'?)" : "");
    }
}

int helio_drafts_send(helio_client_t *client, helio_drafts_t *drafts)
{
    char made[40] = "";
    const char *key = helio_client_value(client, HELIO_OPTION_IDEMPOTENCY_KEY);
    if (key && !key_is_good(key))
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--idempotency-key: must have 1 to %d printable characters and no blanks",
                                 HELIO_SUBMIT_KEY_MAX);
    if (!labels_are_good(client))
        return HELIO_EXIT_USAGE;
    if (!key && !random_key(made, sizeof made))
        return helio_client_fail(client, HELIO_EXIT_OWN, "no random numbers: %s", strerror(errno));
    if (!key)
        key = made;
    for (uint32_t batch = 1; drafts->accepted < drafts->count; batch++) {
        char batch_key[HELIO_SUBMIT_KEY_MAX + 16];
        (void)snprintf(batch_key, sizeof batch_key, batch > 1 ? "%s.%u" : "%s", key, batch);
        uint32_t count = batch_size(drafts, drafts->accepted);
        bool sent = false;
        int code = send_batch(client, drafts->items + drafts->accepted, count, batch_key, &sent);
        if (code != HELIO_EXIT_OK) {
            say_key(client, code, key, sent || drafts->accepted);
            if (drafts->accepted)
                helio_client_say(client, "before that, %u of %u jobs were submitted", drafts->accepted, drafts->count);
            return code;
        }
        drafts->accepted += count;
    }
    helio_drafts_note_home(client, drafts);
    return HELIO_EXIT_OK;
}

/*  ---- printing ---- */

static json_t *rows_of(const helio_drafts_t *drafts)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < drafts->accepted; i++) {
        const helio_draft_t *draft = &drafts->items[i];
        json_t *row = json_pack("{s:s, s:s, s:b}", "id", draft->id, "name", draft->name, "existed", draft->existed);
        if (!row || json_array_append_new(rows, row) != 0)
            abort();
    }
    return rows;
}

int helio_drafts_print(helio_client_t *client, const helio_drafts_t *drafts)
{
    static const helio_column_t columns[] = {
        {"ID", "id", HELIO_CELL_TEXT, false},
        {"NAME", "name", HELIO_CELL_TEXT, false},
        {"EXISTED", "existed", HELIO_CELL_TEXT, true},
    };
    if (client->output.format == HELIO_FORMAT_TABLE) {
        for (uint32_t i = 0; i < drafts->accepted; i++)
            fprintf(client->io->out, "Submitted %s%s%s%s\n", drafts->items[i].id, drafts->items[i].name[0] ? " " : "",
                    drafts->items[i].name, drafts->items[i].existed ? " (submitted before)" : "");
        return HELIO_EXIT_OK;
    }
    json_t *rows = rows_of(drafts);
    helio_rc rc = helio_output_rows(&client->output, rows, HELIO_COLUMNS(columns, "id"));
    json_decref(rows);
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}
