/*  keys.c -- `keys`: admits sites by their keys, lists the keys, and revokes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/commands/commands.h"
#include "client/commands/listing.h"
#include "client/transport/response.h"
#include "federation/base/suggest.h"

enum { KEY_CHARS = 40 };

/* ---- files of public keys ------------------------------------------------------------------------------ */

static bool is_key(helio_text_t text)
{
    static const char z85[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    if (text.size != KEY_CHARS)
        return false;
    for (uint32_t i = 0; i < text.size; i++)
        if (!text.data[i] || !strchr(z85, text.data[i]))
            return false;
    return true;
}

static helio_text_t trim(helio_text_t text)
{
    while (text.size && strchr(" \t\r", text.data[0]))
        text = (helio_text_t){text.data + 1, text.size - 1};
    while (text.size && strchr(" \t\r", text.data[text.size - 1]))
        text.size--;
    return text;
}

/*  The value of a line `NAME = "VALUE"`; a size of 0 = it is none. */
static helio_text_t value_of(helio_text_t line, const char *name)
{
    size_t size = strlen(name);
    if (line.size <= size || memcmp(line.data, name, size) != 0)
        return (helio_text_t){0};
    helio_text_t rest = trim((helio_text_t){line.data + size, line.size - (uint32_t)size});
    if (!rest.size || rest.data[0] != '=')
        return (helio_text_t){0};
    rest = trim((helio_text_t){rest.data + 1, rest.size - 1});
    bool quoted = rest.size >= 2 && rest.data[0] == '"' && rest.data[rest.size - 1] == '"';
    return quoted ? (helio_text_t){rest.data + 1, rest.size - 2} : rest;
}

typedef enum line { LINE_EMPTY, LINE_KEY, LINE_SECRET, LINE_OTHER } line_t;

/*  `helio-agent keygen` writes the key alone. Certificates of czmq have a section `curve` with `public-key = "…"`. A
 *  key may begin with '#', as comments do: a comment has a blank, or another length. */
static line_t line_of(helio_text_t line, helio_text_t *ret_key)
{
    helio_text_t value = value_of(line, "public-key");
    *ret_key = is_key(line) ? line : value;
    if (is_key(*ret_key))
        return LINE_KEY;
    if (value_of(line, "secret-key").size)
        return LINE_SECRET;
    bool section = helio_text_is(line, "curve") || helio_text_is(line, "metadata");
    return !line.size || line.data[0] == '#' || section ? LINE_EMPTY : LINE_OTHER;
}

/*  The only key of the text of a file. Errors name the line. */
static int find_key(helio_client_t *client, const char *path, const char *text, char ret_key[KEY_CHARS + 1])
{
    uint32_t number = 0, found = 0;
    for (const char *at = text; *at; at += *at == '\n') {
        helio_text_t line = {at, (uint32_t)strcspn(at, "\n")}, key;
        line_t kind = line_of(trim(line), &key);
        at += line.size;
        number++;
        if (kind == LINE_SECRET)
            return helio_client_fail(client, HELIO_EXIT_USAGE,
                                     "%.200s:%u: holds a secret key; send only the public key to the broker", path,
                                     number);
        if (kind == LINE_OTHER)
            return helio_client_fail(
                client, HELIO_EXIT_USAGE,
                "%.200s:%u: is not a public key of 40 characters\nhelp: the file must contain the line that "
                "`helio-agent keygen PATH` wrote to PATH.pub; comments begin with '#'",
                path, number);
        if (kind == LINE_KEY && found)
            return helio_client_fail(client, HELIO_EXIT_USAGE,
                                     "%.200s:%u: is a second public key, after that of line %u\nhelp: give the key "
                                     "that is meant instead of the file",
                                     path, number, found);
        if (kind == LINE_KEY) {
            (void)helio_text_copy(key, ret_key, KEY_CHARS + 1);
            found = number;
        }
    }
    return found ? HELIO_EXIT_OK
                 : helio_client_fail(client, HELIO_EXIT_USAGE, "%.200s: holds no public key%s", path,
                                     text[0] ? "" : "; the file is empty");
}

/*  The key itself, or a file that holds it. */
static int read_key(helio_client_t *client, const char *word, char ret_key[KEY_CHARS + 1])
{
    char text[4096];
    if (is_key(helio_text_of(word))) {
        (void)helio_text_copy(helio_text_of(word), ret_key, KEY_CHARS + 1);
        return HELIO_EXIT_OK;
    }
    /* The secret key of a pair looks like the public one. */
    const char *public = helio_arena_printf(client->arena, "%s.pub", word).data;
    if (access(public, F_OK) == 0)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "%.200s is the secret key of a pair; send only the public key to the broker\nhelp: "
                                 "the public key is in %.200s",
                                 word, public);
    FILE *stream = fopen(word, "re");
    size_t size = stream ? fread(text, 1, sizeof text, stream) : 0;
    int why = !stream || ferror(stream) ? errno : 0;
    if (stream)
        (void)fclose(stream);
    if (why)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "%.200s is neither a public key of 40 characters nor a readable file: %s", word,
                                 strerror(why));
    if (size == sizeof text || memchr(text, '\0', size))
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "%.200s is not a public-key file: it is too large, or not text", word);
    text[size] = '\0';
    return find_key(client, word, text, ret_key);
}

/* ---- commands ------------------------------------------------------------------------------------------ */

/*  The name of a site that has never joined and is almost that of another one is rarely meant. */
static void warn_of_slip(helio_client_t *client, const char *site)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    helio_suggestion_t near = {.written = helio_text_of(site)};
    json_t *sites, *row;
    size_t i;
    if (helio_client_has(client, HELIO_OPTION_QUIET) || helio_ask_get(client, "/v1/sites", &reply) != HELIO_EXIT_OK ||
        helio_response_list(client, reply, "sites", &sites) != HELIO_EXIT_OK)
        return;
    json_array_foreach(sites, i, row)
    {
        const char *name = helio_output_string(row, "site");
        if (strcmp(name, site) != 0)
            helio_suggestion_offer(&near, name);
        else if (strcmp(helio_output_string(row, "state"), "new") != 0)
            return;
    }
    if (near.best)
        helio_client_say(client,
                         "note: %.64s is a new site (did you mean '%.64s'?); `helio keys revoke %.64s` takes it back",
                         site, near.best, site);
}

int helio_cmd_keys_add(helio_client_t *client)
{
    char key[KEY_CHARS + 1];
    const char *site = client->arguments->words[0];
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    int code = read_key(client, client->arguments->words[1], key);
    if (code != HELIO_EXIT_OK)
        return code;
    bool again = helio_client_has(client, HELIO_OPTION_AGAIN);
    json_t *body = again ? json_pack("{s:s, s:s, s:b}", "site", site, "public_key", key, "again", 1)
                         : json_pack("{s:s, s:s}", "site", site, "public_key", key);
    if (!body)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "the site's name is not UTF-8");
    code = helio_ask_post(client, "/v1/sites", body, &reply);
    if (code != HELIO_EXIT_OK)
        return code;
    helio_client_say(client, "site %s is admitted with this key", site);
    warn_of_slip(client, site);
    return code;
}

int helio_cmd_keys_ls(helio_client_t *client)
{
    return helio_listing(client, "/v1/keys", "keys", helio_columns_of_keys);
}

static int revoke_one(helio_client_t *client, const char *site, const char *key)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    const char *before = helio_path(client, "/v1/sites/", site, "/keys?public_key=");
    helio_request_t request = {.method = "DELETE", .path = helio_path(client, before, key, "")};
    int code = helio_ask(client, &request, &reply);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "revoked %s of site %s", key, site);
    return code;
}

/*  All that are in force. */
static int revoke_each(helio_client_t *client, const char *site)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    json_t *rows = NULL, *row;
    helio_suggestion_t near = {.written = helio_text_of(site)};
    size_t index, found = 0;
    int worst = helio_listing_ask(client, "/v1/keys", "keys", &reply, &rows);
    if (worst != HELIO_EXIT_OK)
        return worst;
    json_array_foreach(rows, index, row)
    {
        const char *key = helio_output_string(row, "public_key"), *of = helio_output_string(row, "site");
        if (helio_output_string(row, "revoked_at")[0] || !key[0])
            continue;
        if (strcmp(of, site) != 0) {
            helio_suggestion_offer(&near, of);
            continue;
        }
        int code = revoke_one(client, site, key);
        found++;
        if (code != HELIO_EXIT_OK)
            worst = code;
        if (code == HELIO_EXIT_UNREACHABLE || code == HELIO_EXIT_INTERRUPTED)
            break;
    }
    if (!found)
        return helio_client_fail(client, HELIO_EXIT_NOT_FOUND,
                                 "site %.64s has no key in force%s%.64s%s\nhelp: `helio keys ls` lists the keys", site,
                                 near.best ? "; did you mean '" : "", near.best ? near.best : "",
                                 near.best ? "'?" : "");
    return worst;
}

int helio_cmd_keys_revoke(helio_client_t *client)
{
    char key[KEY_CHARS + 1];
    const char *site = client->arguments->words[0];
    if (client->arguments->word_count == 1)
        return revoke_each(client, site);
    int code = read_key(client, client->arguments->words[1], key);
    return code == HELIO_EXIT_OK ? revoke_one(client, site, key) : code;
}
