/*  reader.c -- walks a mapping by a table of fields. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "federation/base/suggest.h"
#include "federation/spec/scalar.h"

enum { ENTRIES_DEFAULT_MAX = 1024, WORD_MAX = 256, PAIR_NAME_MAX = 256, PAIR_VALUE_MAX = 64 << 10, HINT_SIZE = 320 };

static helio_rc read_table(helio_spec_reader_t *self, const helio_spec_table_t *table, const helio_spec_node_t *node,
                           char *target);

/*  Keys differ early, and a small document is mostly keys: avoids strlen. No text contains the NUL that ends a key. */
static bool is_key(const char *key, helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if (key[i] != text.data[i])
            return false;
    return key[text.size] == '\0';
}

/*  A group may share its parent's struct, so only its own fields are set. */
static void apply_fallbacks(const helio_spec_table_t *table, helio_arena_t *arena, char *target)
{
    for (size_t i = 0; i < table->field_count; i++) {
        const helio_spec_field_t *field = &table->fields[i];
        if (field->kind == HELIO_SPEC_GROUP || field->kind == HELIO_SPEC_INCLUDE)
            apply_fallbacks(field->table, arena, target + field->offset);
        else if (field->fallback)
            helio_spec_fallback(field, arena, target + field->offset);
    }
}

void helio_spec_defaults(const helio_spec_table_t *table, helio_arena_t *arena, void *ret_struct)
{
    memset(ret_struct, 0, table->size);
    apply_fallbacks(table, arena, ret_struct);
}

static double entries_most(const helio_spec_field_t *field)
{
    return field->most != 0 ? field->most : ENTRIES_DEFAULT_MAX;
}

bool helio_spec_each(const helio_spec_table_t *table, size_t base, helio_spec_each_fn each, void *context)
{
    for (size_t i = 0; i < table->field_count; i++) {
        const helio_spec_field_t *field = &table->fields[i];
        bool more = field->kind == HELIO_SPEC_INCLUDE
                        ? helio_spec_each(field->table, base + field->offset, each, context)
                        : each(field, base, context);
        if (!more)
            return false;
    }
    return true;
}

const helio_spec_node_t *helio_spec_find(const helio_spec_node_t *mapping, const char *key)
{
    for (const helio_spec_node_t *at = mapping->first; at; at = at->next->next)
        if (is_key(key, at->text))
            return at->next;
    return NULL;
}

/*  *ret_base: the offset of the field's struct within the table's. */
static const helio_spec_field_t *find_field(const helio_spec_table_t *table, helio_text_t key, size_t *ret_base)
{
    for (size_t i = 0; i < table->field_count; i++) {
        const helio_spec_field_t *field = &table->fields[i];
        if (field->kind != HELIO_SPEC_INCLUDE) {
            if (!is_key(field->key, key))
                continue;
            *ret_base = 0;
            return field;
        }
        const helio_spec_field_t *included = find_field(field->table, key, ret_base);
        if (included) {
            *ret_base += field->offset;
            return included;
        }
    }
    return NULL;
}

/*  ---- unknown keys ---- */

typedef struct advice {
    helio_suggestion_t suggestion;
    const char *group;               /* a group that has this key */
    const helio_spec_field_t *meant; /* what other systems call so */
    const char *meant_group;         /* the group that has it; NULL = the table itself */
    char keys[200];
    size_t keys_size;
} advice_t;

static bool is_called_so_elsewhere(const helio_spec_field_t *field, helio_text_t key)
{
    for (const char *at = field->elsewhere; at && *at; at += strcspn(at, " ") + 1)
        if (strcspn(at, " ") == key.size && memcmp(at, key.data, key.size) == 0)
            return true;
    return false;
}

/*  Looks among the keys of the table, and of its groups. */
static void advise_by_elsewhere(const helio_spec_field_t *field, advice_t *self)
{
    helio_text_t key = self->suggestion.written;
    bool group = field->kind == HELIO_SPEC_GROUP;
    if (is_called_so_elsewhere(field, key)) {
        self->meant = field;
        self->meant_group = NULL;
    }
    for (size_t i = 0; group && !self->meant && i < field->table->field_count; i++)
        if (is_called_so_elsewhere(&field->table->fields[i], key)) {
            self->meant = &field->table->fields[i];
            self->meant_group = field->key;
        }
}

static bool advise(const helio_spec_field_t *field, size_t base, void *context)
{
    advice_t *self = context;
    (void)base;
    helio_suggestion_offer(&self->suggestion, field->key);
    advise_by_elsewhere(field, self);
    size_t inner;
    if (field->kind == HELIO_SPEC_GROUP && !self->group && find_field(field->table, self->suggestion.written, &inner))
        self->group = field->key;
    if (self->keys_size + strlen(field->key) + 8 < sizeof self->keys)
        self->keys_size += (size_t)snprintf(self->keys + self->keys_size, sizeof self->keys - self->keys_size, "%s%s",
                                            self->keys_size ? ", " : "", field->key);
    return true;
}

static helio_rc refuse_key(helio_spec_reader_t *self, const helio_spec_table_t *table, const helio_spec_node_t *key)
{
    advice_t advice = {.suggestion = {.written = key->text}};
    char hint[HINT_SIZE], found[HELIO_SPEC_FOUND_SIZE], where[sizeof self->path];
    (void)helio_spec_each(table, 0, advise, &advice);
    if (advice.group)
        (void)snprintf(hint, sizeof hint, "'%.*s' belongs under '%s'", HELIO_TEXT_ARGS(key->text), advice.group);
    else if (advice.meant_group)
        (void)snprintf(hint, sizeof hint, "the key is called '%s' and belongs under '%s'; for example '%s: {%s: %s}'",
                       advice.meant->key, advice.meant_group, advice.meant_group, advice.meant->key,
                       advice.meant->example);
    else if (advice.meant)
        (void)snprintf(hint, sizeof hint, "the key is called '%s'; for example '%s: %s'", advice.meant->key,
                       advice.meant->key, advice.meant->example);
    else if (advice.suggestion.best)
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", advice.suggestion.best);
    else
        (void)snprintf(hint, sizeof hint, "known keys: %s", advice.keys);
    (void)snprintf(where, sizeof where, "%s", self->path_size ? self->path : table->name);
    size_t before = helio_spec_path_key(self, key->text);
    helio_rc rc = helio_spec_diagnose(self, key, HELIO_SPEC_UNKNOWN_KEY_PROBLEM, hint, "unknown key %s in %s",
                                      helio_spec_found(key, found), where);
    helio_spec_path_cut(self, before);
    return rc;
}

/*  Whether to continue after an error: a wrong value has a known end, so the values after it can be read. */
static bool goes_on(const helio_spec_reader_t *self)
{
    return self->all && !self->all->more;
}

/*  ---- collections ---- */

static helio_rc check_entries(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node)
{
    if ((double)node->count <= entries_most(field))
        return HELIO_OK;
    return helio_spec_diagnose(self, node, HELIO_SPEC_TOO_BIG_PROBLEM, NULL, "%s: %u entries exceed the limit of %.0f",
                               self->path, node->count, entries_most(field));
}

static helio_rc read_words(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                           helio_list_t *target)
{
    bool single = node->type == HELIO_SPEC_SCALAR;
    if (!single && node->type != HELIO_SPEC_SEQUENCE)
        return helio_spec_expect(self, field, node, HELIO_SPEC_WRONG_TYPE_PROBLEM, NULL);
    helio_rc rc = check_entries(self, field, node);
    if (rc != HELIO_OK)
        return rc;
    uint32_t count = single ? 1 : node->count;
    helio_string_t *words = helio_arena_alloc(self->arena, count ? count : 1, sizeof *words);
    const helio_spec_node_t *item = single ? node : node->first;
    for (uint32_t i = 0; i < count && (rc == HELIO_OK || goes_on(self)); i++, item = item->next) {
        size_t before = single ? self->path_size : helio_spec_path_index(self, i);
        helio_rc one = helio_spec_text(self, field, item, WORD_MAX, &words[i].text);
        rc = rc == HELIO_OK ? one : rc;
        helio_spec_path_cut(self, before);
    }
    if (rc == HELIO_OK)
        *target = (helio_list_t){words, count};
    return rc;
}

static helio_rc read_pair(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *name,
                          helio_pair_t *pair)
{
    const helio_spec_node_t *value = name->next;
    helio_rc rc = helio_spec_text(self, field, name, PAIR_NAME_MAX, &pair->name);
    if (rc != HELIO_OK)
        return rc;
    size_t before = helio_spec_path_key(self, name->text);
    /* An empty value is a value here: FOO="" is not the same as no FOO. */
    if (value->type == HELIO_SPEC_SCALAR && value->text.size == 0)
        pair->value = HELIO_TEXT("");
    else {
        helio_spec_field_t value_field = *field;
        value_field.rule = field->value_rule;
        rc = helio_spec_text(self, &value_field, value, PAIR_VALUE_MAX, &pair->value);
    }
    helio_spec_path_cut(self, before);
    return rc;
}

static helio_rc read_pairs(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                           helio_list_t *target)
{
    if (node->type != HELIO_SPEC_MAPPING)
        return helio_spec_expect(self, field, node, HELIO_SPEC_WRONG_TYPE_PROBLEM, NULL);
    helio_rc rc = check_entries(self, field, node);
    if (rc != HELIO_OK)
        return rc;
    helio_pair_t *pairs = helio_arena_alloc(self->arena, node->count ? node->count : 1, sizeof *pairs);
    uint32_t i = 0;
    for (const helio_spec_node_t *name = node->first; name && (rc == HELIO_OK || goes_on(self));
         name = name->next->next) {
        helio_rc one = read_pair(self, field, name, &pairs[i++]);
        rc = rc == HELIO_OK ? one : rc;
    }
    if (rc == HELIO_OK)
        *target = (helio_list_t){pairs, node->count};
    return rc;
}

static helio_rc read_list(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                          helio_list_t *target)
{
    if (node->type != HELIO_SPEC_SEQUENCE)
        return helio_spec_expect(self, field, node, HELIO_SPEC_WRONG_TYPE_PROBLEM,
                                 "begin each entry with '- ', or write [{...}, {...}]");
    helio_rc rc = check_entries(self, field, node);
    if (rc != HELIO_OK)
        return rc;
    char *items = helio_arena_alloc(self->arena, node->count ? node->count : 1, field->table->size);
    uint32_t i = 0;
    for (const helio_spec_node_t *item = node->first; item && (rc == HELIO_OK || goes_on(self));
         item = item->next, i++) {
        size_t before = helio_spec_path_index(self, i);
        char *entry = items + i * field->table->size;
        apply_fallbacks(field->table, self->arena, entry);
        helio_rc one = read_table(self, field->table, item, entry);
        rc = rc == HELIO_OK ? one : rc;
        helio_spec_path_cut(self, before);
    }
    if (rc == HELIO_OK)
        *target = (helio_list_t){items, node->count};
    return rc;
}

static helio_rc read_field(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                           char *base)
{
    void *target = base + field->offset;
    if (field->set_offset)
        *(bool *)(base + field->set_offset) = true;
    if (helio_spec_is_scalar(field->kind))
        return helio_spec_scalar(self, field, node, target);
    switch ((int)field->kind) {
    case HELIO_SPEC_STRINGS:
        return read_words(self, field, node, target);
    case HELIO_SPEC_PAIRS:
        return read_pairs(self, field, node, target);
    case HELIO_SPEC_LIST:
        return read_list(self, field, node, target);
    case HELIO_SPEC_GROUP:
        if (node->type != HELIO_SPEC_MAPPING) /* with its example */
            return helio_spec_expect(self, field, node, HELIO_SPEC_WRONG_TYPE_PROBLEM, NULL);
        return read_table(self, field->table, node, target);
    case HELIO_SPEC_CUSTOM:
        return field->custom(self, node, base);
    default:
        return HELIO_OK; /* SKIP */
    }
}

/*  ---- tables ---- */

static helio_rc refuse_missing(helio_spec_reader_t *self, const helio_spec_node_t *node,
                               const helio_spec_field_t *field)
{
    char hint[HINT_SIZE];
    bool block = field->example && strchr(field->example, '\n');
    (void)snprintf(hint, sizeof hint, "add '%s: %s'", field->key, field->example ? field->example : "");
    const char *where = self->path_size ? self->path : NULL;
    return helio_spec_diagnose(self, node, HELIO_SPEC_MISSING_PROBLEM, block ? NULL : hint, "key '%s' is missing%s%s",
                               field->key, where ? " in " : "", where ? where : "");
}

/*  The first missing required key of the table and its included tables; NULL = none. */
static const helio_spec_field_t *find_missing(const helio_spec_table_t *table, const helio_spec_node_t *node)
{
    for (size_t i = 0; i < table->field_count; i++) {
        const helio_spec_field_t *field = &table->fields[i];
        const helio_spec_field_t *missing = NULL;
        if (field->kind == HELIO_SPEC_INCLUDE)
            missing = find_missing(field->table, node);
        else if (field->required && !helio_spec_find(node, field->key))
            missing = field;
        if (missing)
            return missing;
    }
    return NULL;
}

/*  The rules of included tables, then those of the table itself. */
static helio_rc check_table(helio_spec_reader_t *self, const helio_spec_table_t *table, const helio_spec_node_t *node,
                            char *target)
{
    for (size_t i = 0; i < table->field_count; i++)
        if (table->fields[i].kind == HELIO_SPEC_INCLUDE) {
            helio_rc rc = check_table(self, table->fields[i].table, node, target + table->fields[i].offset);
            if (rc != HELIO_OK)
                return rc;
        }
    return table->check ? table->check(self, node, target) : HELIO_OK;
}

static helio_rc refuse_other(helio_spec_reader_t *self, const helio_spec_node_t *node)
{
    char found[HELIO_SPEC_FOUND_SIZE];
    return helio_spec_diagnose(self, node, HELIO_SPEC_WRONG_TYPE_PROBLEM, NULL, "%s: expected a mapping, found %s",
                               self->path, helio_spec_found(node, found));
}

/*  The target already has its defaults, including those of its groups. */
static helio_rc read_table(helio_spec_reader_t *self, const helio_spec_table_t *table, const helio_spec_node_t *node,
                           char *target)
{
    if (node->type != HELIO_SPEC_MAPPING)
        return refuse_other(self, node);
    helio_rc rc = HELIO_OK;
    bool misspelt = false; /* a missing key may be the one that is misspelt */
    for (const helio_spec_node_t *key = node->first; key && (rc == HELIO_OK || goes_on(self)); key = key->next->next) {
        size_t base;
        const helio_spec_field_t *field = find_field(table, key->text, &base);
        misspelt |= !field;
        size_t before = helio_spec_path_key(self, key->text);
        helio_rc one = field ? read_field(self, field, key->next, target + base) : HELIO_OK;
        helio_spec_path_cut(self, before);
        if (!field)
            one = refuse_key(self, table, key);
        rc = rc == HELIO_OK ? one : rc;
    }
    if (rc != HELIO_OK && (misspelt || !goes_on(self)))
        return rc;
    const helio_spec_field_t *missing = find_missing(table, node);
    if (missing)
        return refuse_missing(self, node, missing);
    return rc == HELIO_OK ? check_table(self, table, node, target) : rc; /* rules apply only to valid values */
}

helio_rc helio_spec_read(const helio_spec_table_t *table, helio_spec_source_t source, size_t source_max,
                         helio_arena_t *arena, void *ret_struct, helio_diagnostic_t *ret_diagnostic)
{
    return helio_spec_read_from(table, NULL, source, source_max, arena, ret_struct, ret_diagnostic);
}

static helio_rc read_document(helio_spec_reader_t *self, const helio_spec_table_t *table, const void *defaults,
                              size_t source_max, void *ret_struct)
{
    helio_spec_node_t *root;
    assert(source_max <= HELIO_SPEC_STREAM_MAX);
    helio_rc rc = helio_spec_tree(self, source_max, &root);
    if (rc != HELIO_OK)
        return rc;
    void *read = helio_arena_alloc(self->arena, 1, table->size);
    if (defaults)
        memcpy(read, defaults, table->size);
    else
        apply_fallbacks(table, self->arena, read);
    rc = read_table(self, table, root, read);
    if (rc == HELIO_OK)
        memcpy(ret_struct, read, table->size);
    return rc;
}

helio_rc helio_spec_read_from(const helio_spec_table_t *table, const void *defaults, helio_spec_source_t source,
                              size_t source_max, helio_arena_t *arena, void *ret_struct,
                              helio_diagnostic_t *ret_diagnostic)
{
    helio_spec_reader_t reader = {.source = source, .arena = arena, .diagnostic = ret_diagnostic};
    return read_document(&reader, table, defaults, source_max, ret_struct);
}

helio_rc helio_spec_read_stored(const helio_spec_table_t *table, helio_spec_source_t source, size_t source_max,
                                helio_arena_t *arena, void *ret_struct, helio_diagnostic_t *ret_diagnostic)
{
    helio_spec_reader_t reader = {.source = source, .arena = arena, .diagnostic = ret_diagnostic, .stored = true};
    return read_document(&reader, table, NULL, source_max, ret_struct);
}

helio_rc helio_spec_judge(const helio_spec_table_t *table, helio_spec_source_t source, size_t source_max,
                          helio_arena_t *arena, void *ret_struct, helio_diagnostics_t *ret_wrong)
{
    helio_spec_reader_t reader = {.source = source, .arena = arena, .all = ret_wrong};
    ret_wrong->count = 0;
    ret_wrong->more = false;
    return read_document(&reader, table, NULL, source_max, ret_struct);
}
