/*  keys: admits sites by their keys. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/output/columns.h"
#include "client/transport/response.h"

enum { KEY_CHARS = 40 };

/*  Reads the key: the argument itself, or the first such word of a file (agents write `public-key = "…"`). */
static bool find_key(const char *text, char ret_key[KEY_CHARS + 1])
{
    static const char z85[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    for (const char *at = text; *at;) {
        size_t size = strspn(at, z85);
        if (size == KEY_CHARS) {
            (void)helio_text_copy((helio_text_t){at, KEY_CHARS}, ret_key, KEY_CHARS + 1);
            return true;
        }
        at += size ? size : 1;
    }
    return false;
}

static int read_key(helio_client_t *client, const char *word, char ret_key[KEY_CHARS + 1])
{
    if (strlen(word) == KEY_CHARS && find_key(word, ret_key))
        return HELIO_EXIT_OK;
    char text[4096];
    FILE *stream = fopen(word, "re");
    if (!stream)
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "%.200s is neither a public key of 40 characters nor a readable file: %s", word,
            strerror(errno));
    size_t size = fread(text, 1, sizeof text - 1, stream);
    text[size] = '\0';
    (void)fclose(stream);
    if (strstr(text, "secret"))
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "%.200s holds a secret key; send only the public key to the broker", word);
    if (!find_key(text, ret_key))
        return helio_client_fail(client, HELIO_EXIT_USAGE, "%.200s holds no public key", word);
    return HELIO_EXIT_OK;
}

int helio_cmd_keys_add(helio_client_t *client)
{
    char key[KEY_CHARS + 1];
    const char *site = client->arguments->words[0];
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    int code = read_key(client, client->arguments->words[1], key);
    if (code != HELIO_EXIT_OK)
        return code;
    json_t *body = json_pack("{s:s, s:s}", "site", site, "public_key", key);
    if (!body)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "the site's name is not UTF-8");
    code = helio_ask_post(client, "/v1/sites", body, &reply);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "site %s is admitted with this key", site);
    return code;
}

int helio_cmd_keys_new(helio_client_t *client)
{
    return helio_client_fail(
        client, HELIO_EXIT_USAGE,
        "a key pair is made at its site\nhelp: run `helio-agent keygen PATH` at the site, then `helio keys add SITE` "
        "here with the public key that it prints");
}
