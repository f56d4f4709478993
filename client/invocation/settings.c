/*  settings.c -- finds the broker, the token and the output format: from options, variables and files, by
 *  precedence. */
#include "client/invocation/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/invocation/brokers.h"
#include "client/invocation/settings_file.h"
#include "client/invocation/variables.h"
#include "client/output/humanise.h"
#include "federation/base/suggest.h"
#include "federation/spec/spec.h"

/*  One step of the precedence, highest first. */
typedef struct layer {
    const char *from;
    const char *folder; /* of a file, for relative paths; NULL = the working directory */
    helio_settings_source_t source;
    const char *output, *color; /* NULL = absent */
    uint64_t timeout_ms;
    bool is_file, is_here; /* is_here: ./.helio.yaml */
    bool open_to_others;
} layer_t;

enum { LAYERS_MAX = 12 };

typedef struct loading {
    const helio_client_io_t *io;
    const helio_command_line_t *arguments;
    helio_arena_t *arena;
    helio_buffer_t *complaint;
    layer_t layers[LAYERS_MAX];
    size_t layer_count;
    struct {
        const char *path;
        const char *folder;
        helio_settings_file_t content;
        bool open_to_others;
        bool is_here;
    } files[HELIO_SETTINGS_FILES];
    size_t file_count;
} loading_t;

static helio_rc complain(loading_t *self, const char *text, const char *what)
{
    helio_buffer_printf(self->complaint, "helio: %s: ", what);
    helio_safe_text(text, true, self->complaint);
    helio_buffer_text(self->complaint, "\n");
    return HELIO_INVALID;
}

/*  Reads a whole small file. NOT_FOUND when it is absent. */
static helio_rc read_small(loading_t *self, const char *path, size_t max, helio_text_t *ret_text, struct stat *ret_stat)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? HELIO_NOT_FOUND : complain(self, strerror(errno), path);
    helio_rc rc = HELIO_OK;
    if (fstat(fd, ret_stat) != 0 || !S_ISREG(ret_stat->st_mode) || ret_stat->st_size > (off_t)max) {
        rc = complain(self, "is not a regular file, or is too large", path);
    } else {
        char *bytes = helio_arena_alloc(self->arena, (size_t)ret_stat->st_size + 1, 1);
        size_t size = 0;
        ssize_t got;
        while (size < (size_t)ret_stat->st_size && (got = read(fd, bytes + size, (size_t)ret_stat->st_size - size)) > 0)
            size += (size_t)got;
        *ret_text = (helio_text_t){bytes, (uint32_t)size};
    }
    (void)close(fd);
    return rc;
}

static const char *folder_of(loading_t *self, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? helio_arena_string(self->arena, (helio_text_t){path, (uint32_t)(slash - path)}) : ".";
}

static helio_rc load_file(loading_t *self, const char *path, bool is_here)
{
    helio_text_t text;
    struct stat stat;
    helio_rc rc = read_small(self, path, HELIO_SPEC_SOURCE_MAX, &text, &stat);
    if (rc == HELIO_NOT_FOUND)
        return HELIO_OK;
    if (rc != HELIO_OK)
        return rc;
    if (is_here && stat.st_uid != geteuid() && stat.st_uid != 0)
        return complain(self, "belongs to another user, who could send your jobs anywhere; remove it or own it", path);
    helio_settings_file_t *content = &self->files[self->file_count].content;
    helio_diagnostic_t diagnostic;
    rc = helio_spec_read(&helio_settings_file_table, (helio_spec_source_t){.text = text, .name = path},
                         HELIO_SPEC_SOURCE_MAX, self->arena, content, &diagnostic);
    if (rc != HELIO_OK) {
        helio_diagnostic_text(&diagnostic, false, self->complaint);
        return HELIO_INVALID;
    }
    self->files[self->file_count].path = path;
    self->files[self->file_count].folder = folder_of(self, path);
    self->files[self->file_count].open_to_others = (stat.st_mode & 077) != 0;
    self->files[self->file_count].is_here = is_here;
    self->file_count++;
    return HELIO_OK;
}

static helio_rc load_files(loading_t *self)
{
    helio_arena_t *arena = self->arena;
    helio_rc rc = HELIO_OK;
    if (self->io->directory)
        rc = load_file(self, helio_arena_printf(arena, "%s/.helio.yaml", self->io->directory).data, true);
    const char *config = helio_client_env(self->io, HELIO_VARIABLE_XDG_CONFIG_HOME);
    const char *home = helio_client_env(self->io, HELIO_VARIABLE_HOME);
    const char *user = NULL;
    if (config)
        user = helio_arena_printf(arena, "%s/helio/config.yaml", config).data;
    else if (home)
        user = helio_arena_printf(arena, "%s/.config/helio/config.yaml", home).data;
    if (rc == HELIO_OK && user)
        rc = load_file(self, user, false);
    if (rc == HELIO_OK && self->io->system_settings)
        rc = load_file(self, self->io->system_settings, false);
    return rc;
}

static layer_t *add_layer(loading_t *self, const char *from)
{
    layer_t *layer = &self->layers[self->layer_count++];
    layer->from = from;
    return layer;
}

static const char *flag(const loading_t *self, uint32_t option)
{
    return helio_command_line_value(self->arguments, option);
}

static void add_flags_and_variables(loading_t *self)
{
    const helio_client_io_t *io = self->io;
    /* Each flag and variable is a layer of its own, so that `from` names the one that decided. */
    add_layer(self, "--broker")->source.broker = helio_text_of(flag(self, HELIO_OPTION_BROKER));
    layer_t *flags = add_layer(self, "--token-file");
    flags->source.token_file = helio_text_of(flag(self, HELIO_OPTION_TOKEN_FILE));
    flags->source.ca_file = helio_text_of(flag(self, HELIO_OPTION_CA_FILE));
    flags->output = flag(self, HELIO_OPTION_OUTPUT);
    flags->color = flag(self, HELIO_OPTION_COLOR);
    add_layer(self, "HELIO_BROKER")->source.broker = helio_text_of(helio_client_env(io, HELIO_VARIABLE_BROKER));
    layer_t *variables = add_layer(self, "HELIO_TOKEN");
    variables->source.token = helio_text_of(helio_client_env(io, HELIO_VARIABLE_TOKEN));
    variables->source.ca_file = helio_text_of(helio_client_env(io, HELIO_VARIABLE_CA_FILE));
    variables->output = helio_client_env(io, HELIO_VARIABLE_OUTPUT);
    variables->color = helio_client_env(io, HELIO_VARIABLE_COLOR);
    add_layer(self, "HELIO_TOKEN_FILE")->source.token_file =
        helio_text_of(helio_client_env(io, HELIO_VARIABLE_TOKEN_FILE));
}

static const helio_settings_source_t *find_context(const loading_t *self, size_t file, const char *name)
{
    for (uint32_t i = 0; i < self->files[file].content.contexts.count; i++)
        if (helio_text_is(self->files[file].content.contexts.items[i].name, name))
            return &self->files[file].content.contexts.items[i];
    return NULL;
}

static layer_t *add_file_layer(loading_t *self, size_t file, const helio_settings_source_t *source)
{
    layer_t *layer = add_layer(self, self->files[file].path);
    layer->folder = self->files[file].folder;
    layer->source = *source;
    layer->is_file = true;
    layer->is_here = self->files[file].is_here;
    layer->open_to_others = self->files[file].open_to_others;
    return layer;
}

static helio_rc add_context(loading_t *self, const char *name)
{
    for (size_t i = 0; i < self->file_count; i++) {
        const helio_settings_source_t *context = find_context(self, i, name);
        if (context) {
            (void)add_file_layer(self, i, context);
            return HELIO_OK;
        }
    }
    return complain(self, self->file_count ? "no settings file defines this context" : "no settings file exists", name);
}

static helio_rc add_files(loading_t *self, const char **ret_context)
{
    const char *chosen = flag(self, HELIO_OPTION_CONTEXT);
    if (!chosen)
        chosen = helio_client_env(self->io, HELIO_VARIABLE_CONTEXT);
    helio_rc rc = chosen ? add_context(self, chosen) : HELIO_OK;
    *ret_context = chosen ? chosen : "";
    for (size_t i = 0; i < self->file_count && rc == HELIO_OK; i++) {
        const helio_settings_file_t *file = &self->files[i].content;
        if (!chosen && file->context.size) {
            chosen = *ret_context = helio_arena_string(self->arena, file->context);
            rc = add_context(self, chosen);
        }
        layer_t *layer = add_file_layer(self, i, &file->top);
        layer->output = file->output.size ? helio_arena_string(self->arena, file->output) : NULL;
        layer->color = file->color.size ? helio_arena_string(self->arena, file->color) : NULL;
        layer->timeout_ms = file->timeout_ms;
    }
    return rc;
}

static const char *path_in(loading_t *self, const layer_t *layer, helio_text_t path)
{
    if (layer->folder && path.size && path.data[0] != '/')
        return helio_arena_printf(self->arena, "%s/%.*s", layer->folder, HELIO_TEXT_ARGS(path)).data;
    return helio_arena_string(self->arena, path);
}

/*  A token goes into a header: bytes other than printable ASCII could forge further headers. */
static helio_rc take_token(loading_t *self, const char *from, helio_text_t token, helio_settings_t *settings)
{
    while (token.size && strchr(" \t\r\n", token.data[token.size - 1]))
        token.size--;
    if (!token.size || token.size > HELIO_TOKEN_MAX)
        return complain(self, "holds no token, or a token that is too long", from);
    for (uint32_t i = 0; i < token.size; i++)
        if (token.data[i] <= ' ' || token.data[i] > '~')
            return complain(self, "holds no token: it has blanks or special characters", from);
    settings->token = helio_arena_string(self->arena, token);
    settings->token_from = from;
    return HELIO_OK;
}

static helio_rc take_token_of_layer(loading_t *self, const layer_t *layer, helio_settings_t *settings)
{
    if (layer->source.token.size) {
        if (layer->is_file && layer->open_to_others)
            return complain(self, "holds a token, and other users can read it\nhelp: chmod 600 it", layer->from);
        return take_token(self, layer->from, layer->source.token, settings);
    }
    const char *path = path_in(self, layer, layer->source.token_file);
    helio_text_t text;
    struct stat stat;
    helio_rc rc = read_small(self, path, 4096, &text, &stat);
    if (rc == HELIO_NOT_FOUND) {
        settings->token_missing = path;
        settings->token_from = layer->from;
        return HELIO_OK;
    }
    if (rc != HELIO_OK)
        return rc;
    if (stat.st_mode & 077)
        return complain(self, "other users can read the token file\nhelp: chmod 600 it", path);
    return take_token(self, path, text, settings);
}

static helio_rc take_broker(loading_t *self, const layer_t *layer, helio_settings_t *settings)
{
    helio_brokers_t brokers;
    if (helio_brokers_parse(layer->source.broker, self->arena, &brokers) != HELIO_OK)
        return complain(self,
                        "the broker must be a URL such as https://broker.example, or several of them, separated by "
                        "commas",
                        layer->from);
    settings->broker = brokers.text;
    settings->broker_from = layer->from;
    return HELIO_OK;
}

/*  Whether a token of this layer may go to the chosen broker. */
static bool token_is_for(const loading_t *self, const layer_t *token, const layer_t *broker, const char *text)
{
    if (!broker || !broker->is_here || token->is_here || !token->is_file)
        return true;
    helio_brokers_t own;
    return helio_brokers_parse(token->source.broker, self->arena, &own) == HELIO_OK && strcmp(own.text, text) == 0;
}

/*  The flags are checked already; a variable or a file is named by the complaint. */
static helio_rc take_word(loading_t *self, const layer_t *layer, uint32_t option, const char *word, const char **taken)
{
    if (*taken || !word)
        return HELIO_OK;
    const char *name = helio_client_options.items[option].name, *choices = helio_client_options.items[option].choices;
    helio_text_t meant = helio_suggestion_among(helio_text_of(word), helio_text_of(choices), ' ');
    *taken = word;
    if (helio_text_is(meant, word))
        return HELIO_OK;
    const char *variable = option == HELIO_OPTION_OUTPUT ? "HELIO_OUTPUT" : "HELIO_COLOR";
    const char *text =
        helio_arena_printf(self->arena, "%s: '%.32s' is not one of %s%s%.*s%s", name, word, choices,
                           meant.size ? "; did you mean '" : "", HELIO_TEXT_ARGS(meant), meant.size ? "'?" : "")
            .data;
    return complain(self, text, layer->is_file ? layer->from : variable);
}

static helio_rc resolve(loading_t *self, helio_settings_t *settings)
{
    const layer_t *broker = NULL, *token = NULL;
    for (size_t i = 0; i < self->layer_count; i++) {
        layer_t *layer = &self->layers[i];
        if (!broker && layer->source.broker.size)
            broker = layer;
        if (!token && (layer->source.token.size || layer->source.token_file.size))
            token = layer;
        if (!settings->ca_file[0] && layer->source.ca_file.size)
            settings->ca_file = path_in(self, layer, layer->source.ca_file);
        if (take_word(self, layer, HELIO_OPTION_OUTPUT, layer->output, &settings->output) != HELIO_OK ||
            take_word(self, layer, HELIO_OPTION_COLOR, layer->color, &settings->color) != HELIO_OK)
            return HELIO_INVALID;
        if (!settings->timeout_ms)
            settings->timeout_ms = layer->timeout_ms;
    }
    helio_rc rc = broker ? take_broker(self, broker, settings) : HELIO_OK;
    if (rc == HELIO_OK && token) {
        if (token_is_for(self, token, broker, settings->broker))
            rc = take_token_of_layer(self, token, settings);
        else
            settings->withheld_from = token->from;
    }
    return rc;
}

helio_rc helio_settings_load(const helio_client_io_t *io, const helio_command_line_t *arguments, helio_arena_t *arena,
                             helio_settings_t *ret_settings, helio_buffer_t *complaint)
{
    loading_t loading = {.io = io, .arguments = arguments, .arena = arena, .complaint = complaint};
    helio_settings_t settings = {.broker = "",
                                 .token = "",
                                 .ca_file = "",
                                 .context = "",
                                 .broker_from = "",
                                 .token_from = "",
                                 .withheld_from = "",
                                 .token_missing = ""};
    helio_rc rc = load_files(&loading);
    if (rc != HELIO_OK)
        return rc;
    add_flags_and_variables(&loading);
    rc = add_files(&loading, &settings.context);
    if (rc == HELIO_OK)
        rc = resolve(&loading, &settings);
    if (rc != HELIO_OK)
        return rc;
    if (!settings.timeout_ms)
        settings.timeout_ms = 30000;
    settings.output = settings.output ? settings.output : "table";
    settings.color = settings.color ? settings.color : "auto";
    for (size_t i = 0; i < loading.file_count; i++)
        settings.files[i] = loading.files[i].path;
    *ret_settings = settings;
    return HELIO_OK;
}
