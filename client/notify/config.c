/*  config.c -- reads notify.yaml, and the files beside it. */
#include "client/notify/config.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/file.h"

enum { SECRET_FILE_MAX = 4096, SECRET_LEAST = 16 };

typedef struct loading {
    const char *path;
    helio_arena_t *arena;
    helio_buffer_t *complaint;
} loading_t;

static helio_rc complain(const loading_t *self, const char *path, const char *what)
{
    helio_buffer_printf(self->complaint, "%s: error: %s\n", path, what);
    return HELIO_INVALID;
}

static helio_rc read_file(const loading_t *self, const char *path, size_t most, bool secret, helio_text_t *ret_text)
{
    HELIO_AUTO(helio_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return complain(self, path, strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_size > (off_t)most)
        return complain(self, path, "is not a regular file, or is too large");
    if (secret && status.st_mode & 077)
        return complain(self, path, "other users can read this secret\nhelp: chmod 600 it");
    char *bytes = helio_arena_alloc(self->arena, (size_t)status.st_size + 1, 1);
    size_t size = 0;
    for (ssize_t got;
         size < (size_t)status.st_size && (got = read(fd, bytes + size, (size_t)status.st_size - size)) > 0;)
        size += (size_t)got;
    *ret_text = (helio_text_t){bytes, (uint32_t)size};
    return HELIO_OK;
}

/*  Relative to the folder of the file. */
static const char *resolve(const loading_t *self, helio_text_t path)
{
    const char *slash = strrchr(self->path, '/');
    if (!path.size || path.data[0] == '/' || !slash)
        return helio_arena_string(self->arena, path);
    return helio_arena_printf(self->arena, "%.*s/%.*s", (int)(slash - self->path), self->path, HELIO_TEXT_ARGS(path))
        .data;
}

static helio_text_t trimmed(helio_text_t text)
{
    while (text.size && strchr(" \t\r\n", text.data[text.size - 1]))
        text.size--;
    while (text.size && strchr(" \t\r\n", text.data[0]))
        text = (helio_text_t){text.data + 1, text.size - 1};
    return text;
}

/*  "whsec_" and base64, as Standard Webhooks writes a secret; any other text is the key itself. */
static helio_rc key_of(const loading_t *self, const char *path, helio_text_t text, helio_text_t *ret_key)
{
    static const char prefix[] = "whsec_";
    if (text.size >= sizeof prefix - 1 && memcmp(text.data, prefix, sizeof prefix - 1) == 0) {
        helio_text_t coded = {text.data + sizeof prefix - 1, text.size - (uint32_t)(sizeof prefix - 1)};
        unsigned char *bytes = helio_arena_alloc(self->arena, coded.size / 4 * 3 + 4, 1);
        int size = coded.size % 4 ? -1 : EVP_DecodeBlock(bytes, (const unsigned char *)coded.data, (int)coded.size);
        if (size < 0)
            return complain(self, path,
                            "behind whsec_ is not base64\nhelp: `openssl rand -base64 32` makes such a text");
        for (uint32_t i = coded.size; i && coded.data[i - 1] == '=' && size; i--)
            size--;
        text = (helio_text_t){(const char *)bytes, (uint32_t)size};
    }
    if (text.size < SECRET_LEAST)
        return complain(self, path,
                        ("the secret is shorter than 16 bytes\nhelp: make one with "
                         "`(umask 077; openssl rand -base64 32 >secret)`"));
    *ret_key = text;
    return HELIO_OK;
}

static helio_rc find_way(const loading_t *self, const helio_notify_target_t *target, helio_notify_way_t *ret_way)
{
    helio_notify_way_t way = {.url = helio_arena_string(self->arena, target->url),
                              .ca_file = resolve(self, target->ca_file)};
    helio_text_t text;
    if (target->url_file.size) {
        const char *path = resolve(self, target->url_file);
        if (read_file(self, path, SECRET_FILE_MAX, true, &text) != HELIO_OK)
            return HELIO_INVALID;
        way.url = helio_arena_string(self->arena, trimmed(text));
        if (strncmp(way.url, "https://", 8) != 0 && strncmp(way.url, "http://", 7) != 0)
            return complain(self, path, "does not hold a URL with https:// or http://");
    }
    if (target->secret_file.size) {
        const char *path = resolve(self, target->secret_file);
        if (read_file(self, path, SECRET_FILE_MAX, true, &text) != HELIO_OK ||
            key_of(self, path, trimmed(text), &way.secret) != HELIO_OK)
            return HELIO_INVALID;
    }
    if (way.ca_file[0] && access(way.ca_file, R_OK) != 0)
        return complain(self, way.ca_file, strerror(errno));
    if (target->command.count) {
        const char **argv = helio_arena_alloc(self->arena, target->command.count + 1, sizeof *argv);
        for (uint32_t i = 0; i < target->command.count; i++)
            argv[i] = helio_arena_string(self->arena, target->command.items[i].text);
        if (strchr(argv[0], '/') && access(argv[0], X_OK) != 0)
            return complain(self, argv[0], strerror(errno));
        way.argv = argv;
    }
    *ret_way = way;
    return HELIO_OK;
}

helio_rc helio_notify_config_load(const char *path, bool colour, helio_arena_t *arena,
                                  helio_notify_config_t *ret_config, helio_buffer_t *complaint)
{
    loading_t self = {.path = path, .arena = arena, .complaint = complaint};
    helio_notify_config_t config = {0};
    helio_text_t text;
    helio_rc rc = read_file(&self, path, HELIO_SPEC_SOURCE_MAX, false, &text);
    if (rc != HELIO_OK)
        return rc;
    helio_diagnostics_t wrong;
    rc = helio_spec_judge(&helio_notify_table, (helio_spec_source_t){.text = text, .name = path}, HELIO_SPEC_SOURCE_MAX,
                          arena, &config.settings, &wrong);
    if (rc != HELIO_OK) {
        helio_diagnostics_text(&wrong, colour, complaint);
        return rc;
    }
    helio_notify_settle(&config.settings);
    uint32_t count = config.settings.targets.count;
    config.state = resolve(&self, config.settings.state);
    config.ways = helio_arena_alloc(arena, count ? count : 1, sizeof *config.ways);
    for (uint32_t i = 0; i < count; i++)
        if (find_way(&self, &config.settings.targets.items[i], &config.ways[i]) != HELIO_OK)
            return HELIO_INVALID;
    *ret_config = config;
    return HELIO_OK;
}
