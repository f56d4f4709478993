/*  openapi.h -- docs/openapi.yaml as a tree, and a validator of responses against its schemas.
 *
 *  It is strict on purpose. A member that the schema does not name is an error, unless the schema has
 *  `additionalProperties`. An unknown keyword is an error, too, so that none is silently ignored. */
#ifndef HELIO_TESTS_BROKER_HTTP_OPENAPI_H
#define HELIO_TESTS_BROKER_HTTP_OPENAPI_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static inline json_t *openapi_scalar(const yaml_node_t *node)
{
    const char *text = (const char *)node->data.scalar.value;
    char *end = NULL;
    if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return json_string(text);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(*text == 't');
    if (strcmp(text, "null") == 0)
        return json_null();
    double number = strtod(text, &end);
    if (!*text || *end)
        return json_string(text);
    return strpbrk(text, ".eE") ? json_real(number) : json_integer((json_int_t)number);
}

static inline json_t *openapi_tree(yaml_document_t *document, int place)
{
    const yaml_node_t *node = yaml_document_get_node(document, place);
    if (node->type == YAML_SCALAR_NODE)
        return openapi_scalar(node);
    json_t *tree = node->type == YAML_SEQUENCE_NODE ? json_array() : json_object();
    if (node->type == YAML_SEQUENCE_NODE) {
        for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++)
            assert_int_equal(json_array_append_new(tree, openapi_tree(document, *item)), 0);
        return tree;
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
        const char *key = (const char *)yaml_document_get_node(document, pair->key)->data.scalar.value;
        assert_null(json_object_get(tree, key)); /* twice in one mapping */
        assert_int_equal(json_object_set_new(tree, key, openapi_tree(document, pair->value)), 0);
    }
    return tree;
}

static inline json_t *openapi_load(void)
{
    FILE *file = fopen(HELIO_SOURCE_DIR "/docs/openapi.yaml", "r");
    yaml_parser_t parser;
    yaml_document_t document;
    assert_non_null(file);
    assert_int_equal(yaml_parser_initialize(&parser), 1);
    yaml_parser_set_input_file(&parser, file);
    assert_int_equal(yaml_parser_load(&parser, &document), 1);
    json_t *tree = openapi_tree(&document, 1);
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    (void)fclose(file);
    return tree;
}

/*  What {"$ref": "#/components/schemas/Job"} stands for; anything else is itself. */
static inline const json_t *openapi_follow(const json_t *root, const json_t *node)
{
    const char *ref;
    while ((ref = json_string_value(json_object_get(node, "$ref")))) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s", ref + 2);
        node = root;
        for (char *rest = path, *part; (part = strtok_r(rest, "/", &rest));)
            if (!(node = json_object_get(node, part)))
                fail_msg("docs/openapi.yaml: %s leads nowhere", ref);
    }
    return node;
}

/*  The path item and, of it, the operation of a route; NULL: it is not described. */
static inline const json_t *openapi_operation(const json_t *root, const char *method, const char *pattern,
                                              const json_t **ret_item)
{
    char name[16];
    size_t size = strlen(method);
    for (size_t i = 0; i <= size; i++)
        name[i] = (char)(method[i] >= 'A' && method[i] <= 'Z' ? method[i] | 0x20 : method[i]);
    *ret_item = json_object_get(json_object_get(root, "paths"), pattern);
    return json_object_get(*ret_item, name);
}

static inline const char *openapi_type(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
    default:
        return "null";
    }
}

static inline bool openapi_is_type(const json_t *value, const char *type)
{
    const char *is = openapi_type(value);
    return strcmp(is, type) == 0 || (strcmp(type, "number") == 0 && strcmp(is, "integer") == 0);
}

/*  What is wrong, with its place; false. */
HELIO_PRINTF(3, 4)
static inline bool openapi_wrong(char *why, const char *place, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)snprintf(why, 512, "%s: %s", *place ? place : "(the whole)", text);
    return false;
}

static inline bool openapi_one_of(const json_t *list, const json_t *value)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(list, i, entry) if (json_equal(entry, value)) return true;
    return false;
}

static inline bool openapi_valid(const json_t *root, const json_t *schema, const json_t *value, const char *place,
                                 char why[512]);

static inline bool openapi_valid_object(const json_t *root, const json_t *schema, const json_t *value,
                                        const char *place, char why[512])
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *more = json_object_get(schema, "additionalProperties");
    const char *key;
    const json_t *member;
    char inner[256];
    size_t i;
    json_array_foreach(json_object_get(schema, "required"), i, member)
    {
        if (!json_object_get(value, json_string_value(member)))
            return openapi_wrong(why, place, "the required '%s' is missing", json_string_value(member));
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        const json_t *of = json_object_get(properties, key);
        if (!of && json_is_object(more))
            of = more;
        if (!of && !json_is_true(more))
            return openapi_wrong(why, place, "'%s' is not described", key);
        (void)snprintf(inner, sizeof inner, "%s.%s", place, key);
        if (of && !openapi_valid(root, of, member, inner, why))
            return false;
    }
    return true;
}

static inline bool openapi_valid_bounds(const json_t *schema, const json_t *value, const char *place, char why[512])
{
    const json_t *least = json_object_get(schema, "minimum"), *most = json_object_get(schema, "maximum");
    const json_t *short_ = json_object_get(schema, "minLength"), *long_ = json_object_get(schema, "maxLength");
    if (json_is_number(value) && least && json_number_value(value) < json_number_value(least))
        return openapi_wrong(why, place, "it is less than the minimum");
    if (json_is_number(value) && most && json_number_value(value) > json_number_value(most))
        return openapi_wrong(why, place, "it is more than the maximum");
    if (json_is_string(value) && short_ && json_string_length(value) < (size_t)json_integer_value(short_))
        return openapi_wrong(why, place, "it is shorter than minLength");
    if (json_is_string(value) && long_ && json_string_length(value) > (size_t)json_integer_value(long_))
        return openapi_wrong(why, place, "it is longer than maxLength");
    const char *format = json_string_value(json_object_get(schema, "format"));
    if (json_is_string(value) && format && strcmp(format, "date-time") == 0 &&
        (json_string_length(value) < 20 || json_string_value(value)[10] != 'T'))
        return openapi_wrong(why, place, "'%s' is no date-time", json_string_value(value));
    return true;
}

static inline bool openapi_knows_keywords(const json_t *schema, const char *place, char why[512])
{
    static const char known[] =
        " type enum const properties required additionalProperties items minimum maximum minLength "
        "maxLength minItems maxItems minProperties exclusiveMinimum format description example examples "
        "default deprecated ";
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)schema, key, value)
    {
        char word[64];
        (void)snprintf(word, sizeof word, " %s ", key);
        if (!strstr(known, word))
            return openapi_wrong(why, place, "the schema's keyword '%s' is not understood by this test", key);
    }
    return true;
}

/*  false: the value is not what the schema says, and why holds where and how. */
static inline bool openapi_valid(const json_t *root, const json_t *schema, const json_t *value, const char *place,
                                 char why[512])
{
    schema = openapi_follow(root, schema);
    const json_t *type = json_object_get(schema, "type"), *words = json_object_get(schema, "enum");
    const json_t *only = json_object_get(schema, "const"), *entry;
    bool typed = !type || (json_is_string(type) && openapi_is_type(value, json_string_value(type)));
    size_t i;
    if (!openapi_knows_keywords(schema, place, why))
        return false;
    json_array_foreach(type, i, entry) typed |= openapi_is_type(value, json_string_value(entry));
    if (!typed)
        return openapi_wrong(why, place, "it is of type %s", openapi_type(value));
    if (words && !openapi_one_of(words, value))
        return openapi_wrong(why, place, "it is none of the words");
    if (only && !json_equal(only, value))
        return openapi_wrong(why, place, "it is not the one value");
    if (!openapi_valid_bounds(schema, value, place, why))
        return false;
    json_array_foreach((json_t *)(uintptr_t)value, i, entry)
    {
        char inner[256];
        const json_t *items = json_object_get(schema, "items");
        (void)snprintf(inner, sizeof inner, "%s[%zu]", place, i);
        if (!items)
            return openapi_wrong(why, place, "the schema does not say what is in the list");
        if (!openapi_valid(root, items, entry, inner, why))
            return false;
    }
    return !json_is_object(value) || openapi_valid_object(root, schema, value, place, why);
}

/*  A value that the schema allows. */
static inline json_t *openapi_sample(const json_t *root, const json_t *schema)
{
    schema = openapi_follow(root, schema);
    const json_t *example = json_object_get(schema, "example");
    const json_t *type = json_object_get(schema, "type");
    if (!example)
        example = json_array_get(json_object_get(schema, "examples"), 0);
    if (!example)
        example = json_array_get(json_object_get(schema, "enum"), 0);
    if (!example)
        example = json_object_get(schema, "const");
    if (example)
        return json_deep_copy(example);
    const char *word = json_string_value(json_is_array(type) ? json_array_get(type, 0) : type);
    assert_non_null(word);
    const json_t *least = json_object_get(schema, "minimum"), *size = json_object_get(schema, "minLength");
    if (strcmp(word, "string") == 0 && json_object_get(schema, "format"))
        return json_string("2026-11-22T07:00:00Z");
    if (strcmp(word, "string") == 0) {
        char text[64];
        size_t count = size && json_integer_value(size) > 1 ? (size_t)json_integer_value(size) : 1;
        memset(text, 'a', sizeof text);
        return json_stringn(text, count);
    }
    if (strcmp(word, "integer") == 0)
        return json_integer(least && json_integer_value(least) > 1 ? json_integer_value(least) : 1);
    if (strcmp(word, "number") == 0)
        return json_real(1);
    if (strcmp(word, "boolean") == 0)
        return json_true();
    if (strcmp(word, "array") == 0)
        return json_pack("[o]", openapi_sample(root, json_object_get(schema, "items")));
    fail_msg("no sample of type %s", word);
    return NULL;
}

#endif
