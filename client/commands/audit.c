/*  audit.c -- `audit`: who changed what, and whether an entry was changed or removed. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/listing.h"

enum { PAGE_ROWS = 1000, ROWS_BY_DEFAULT = 100 };

static int audit_page(helio_client_t *client, uint64_t limit, json_int_t *before, json_t *rows)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    json_t *list;
    helio_buffer_printf(&path, "/v1/audit?limit=%llu", (unsigned long long)limit);
    if (*before)
        helio_buffer_printf(&path, "&cursor=%lld", (long long)*before);
    int code = helio_listing_ask(client, path.data, "entries", &reply, &list);
    if (code != HELIO_EXIT_OK)
        return code;
    json_int_t next = json_integer_value(json_object_get(reply, "next"));
    *before = json_array_size(list) && next != *before ? next : 0;
    if (json_array_extend(rows, list) != 0)
        abort();
    return HELIO_EXIT_OK;
}

int helio_cmd_audit(helio_client_t *client)
{
    uint64_t limit;
    if (!helio_listing_limit(client, ROWS_BY_DEFAULT, &limit))
        return HELIO_EXIT_USAGE;
    HELIO_AUTO(helio_json_clear) json_t *rows = json_array();
    json_int_t before = 0;
    do {
        uint64_t left = limit - json_array_size(rows);
        int code = audit_page(client, left < PAGE_ROWS ? left : PAGE_ROWS, &before, rows);
        if (code != HELIO_EXIT_OK)
            return code;
    } while (before && json_array_size(rows) < limit);
    helio_rc rc = helio_output_rows(&client->output, rows, helio_columns_of_audit);
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

/* ---- anchors -------------------------------------------------------------------------------------------- */

/*  One entry as it was when the anchor was taken: "NUMBER HASH TIME". The hash covers every entry up to it. */
enum { HASH_CHARS = 64, ANCHOR_LINE_SIZE = 256 };
typedef struct anchor {
    int64_t number; /* of the entry, from 1 */
    char hash[HASH_CHARS + 1];
} anchor_t;

static bool read_anchor(const char *line, anchor_t *ret_anchor)
{
    char *end;
    errno = 0;
    long long number = *line >= '1' && *line <= '9' ? strtoll(line, &end, 10) : 0;
    if (number < 1 || errno || number == INT64_MAX || *end != ' ')
        return false;
    const char *hash = end + 1;
    size_t size = strspn(hash, "0123456789abcdef");
    if (size != HASH_CHARS || !strchr(" \r\n", hash[size]))
        return false;
    ret_anchor->number = number;
    memcpy(ret_anchor->hash, hash, HASH_CHARS);
    ret_anchor->hash[HASH_CHARS] = '\0';
    return true;
}

/*  The newest entry before a number (0: of all); *ret_entry NULL: there is none. The caller frees the reply. */
static int ask_entry(helio_client_t *client, int64_t before, json_t **ret_reply, const json_t **ret_entry)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    json_t *list = NULL;
    helio_buffer_printf(&path, "/v1/audit?limit=1");
    if (before)
        helio_buffer_printf(&path, "&cursor=%" PRId64, before);
    int code = helio_listing_ask(client, path.data, "entries", ret_reply, &list);
    *ret_entry = code == HELIO_EXIT_OK ? json_array_get(list, 0) : NULL;
    return code;
}

int helio_cmd_audit_anchor(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    const json_t *entry;
    int code = ask_entry(client, 0, &reply, &entry);
    if (code != HELIO_EXIT_OK)
        return code;
    if (!entry)
        return helio_client_fail(client, HELIO_EXIT_FAILURE, "the audit has no entry that could be an anchor");
    const char *hash = json_string_value(json_object_get(entry, "hash"));
    const char *time = json_string_value(json_object_get(entry, "time"));
    char line[ANCHOR_LINE_SIZE];
    anchor_t anchor;
    (void)snprintf(line, sizeof line, "%lld %s %s", (long long)json_integer_value(json_object_get(entry, "audit_id")),
                   hash ? hash : "", time ? time : "");
    if (!read_anchor(line, &anchor) || strcmp(anchor.hash, hash) != 0 || !time || !*time ||
        time[strspn(time, "0123456789TZ:.+-")])
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer is not an audit entry with its hash and time");
    if (helio_format_is_nested(client->output.format))
        return helio_output_object(&client->output, entry, helio_columns_of_audit) == HELIO_OK ? HELIO_EXIT_OK
                                                                                               : HELIO_EXIT_OWN;
    (void)fprintf(client->io->out, "%s\n", line);
    return HELIO_EXIT_OK;
}

static int check_anchor(helio_client_t *client, const anchor_t *anchor)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    const json_t *entry;
    int code = ask_entry(client, anchor->number + 1, &reply, &entry);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *hash = json_string_value(json_object_get(entry, "hash"));
    if (!entry || json_integer_value(json_object_get(entry, "audit_id")) != anchor->number)
        return helio_client_fail(client, HELIO_EXIT_FAILURE,
                                 "entry %" PRId64 " is missing: entries were removed from the end since the anchor "
                                 "was taken",
                                 anchor->number);
    if (!hash || strcmp(hash, anchor->hash) != 0)
        return helio_client_fail(client, HELIO_EXIT_FAILURE,
                                 "entry %" PRId64 " differs from the one that was anchored: it, or an earlier "
                                 "one, was changed, and the hashes were computed again",
                                 anchor->number);
    helio_client_say(client, "entry %" PRId64 " matches its anchor", anchor->number);
    return HELIO_EXIT_OK;
}

static int bad_anchor(const helio_client_t *client, const char *text)
{
    return helio_client_fail(client, HELIO_EXIT_USAGE,
                             "--anchor: '%.80s' is not an anchor\nhelp: it is a line that `helio audit anchor` "
                             "printed, or a file of such lines",
                             text);
}

/*  Lines that are empty or begin with '#' are none. */
static int check_file(helio_client_t *client, const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--anchor: '%.200s' is neither an anchor nor a file that can "
                                 "be read: %s",
                                 path, strerror(errno));
    char line[ANCHOR_LINE_SIZE];
    int code = HELIO_EXIT_OK;
    uint32_t count = 0;
    while (code == HELIO_EXIT_OK && fgets(line, sizeof line, file)) {
        anchor_t anchor;
        if (strchr("#\r\n", *line))
            continue;
        count++;
        code = read_anchor(line, &anchor) ? check_anchor(client, &anchor) : bad_anchor(client, line);
    }
    (void)fclose(file);
    return code == HELIO_EXIT_OK && !count ? helio_client_fail(client, HELIO_EXIT_USAGE, "%s holds no anchor", path)
                                           : code;
}

static int check_anchors(helio_client_t *client, const char *given)
{
    anchor_t anchor;
    if (read_anchor(given, &anchor))
        return check_anchor(client, &anchor);
    return strchr(given, ' ') ? bad_anchor(client, given) : check_file(client, given);
}

int helio_cmd_audit_verify(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    int code = helio_ask_get(client, "/v1/audit/verify", &reply);
    if (code != HELIO_EXIT_OK)
        return code;
    const json_t *broken_at = json_object_get(reply, "broken_at");
    if (!json_is_null(broken_at) && !json_is_integer(broken_at))
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer is not a result of the check; do the versions of helio and the "
                                 "broker differ?");
    bool spoken = json_is_integer(broken_at) || !helio_client_has(client, HELIO_OPTION_QUIET) ||
                  client->output.format > HELIO_FORMAT_WIDE; /* cron mails whatever is printed */
    if (spoken && helio_output_object(&client->output, reply, helio_columns_of_audit_chain) != HELIO_OK)
        return HELIO_EXIT_OWN;
    if (json_is_integer(broken_at))
        return helio_client_fail(client, HELIO_EXIT_FAILURE,
                                 "entry %lld does not match the entry before it: one of the two was changed, or an "
                                 "entry between them was removed",
                                 (long long)json_integer_value(broken_at));
    helio_client_say(client, "the hash chain is intact"); /* an anchor can still say otherwise of the entries */
    const char *given = helio_client_value(client, HELIO_OPTION_ANCHOR);
    return given ? check_anchors(client, given) : HELIO_EXIT_OK;
}
