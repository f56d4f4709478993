/*  environment.c -- lists of "NAME=value" entries: reading, setting, looking up. */
#include "site-agent/shim/environment.h"

#include <stdio.h>
#include <string.h>

static char **find(char **list, uint32_t count, const char *name)
{
    size_t size = strlen(name);
    for (uint32_t i = 0; i < count; i++)
        if (strncmp(list[i], name, size) == 0 && list[i][size] == '=')
            return &list[i];
    return NULL;
}

static void add(helio_environment_t *self, char *entry)
{
    if (self->count + 1 >= self->capacity) {
        uint32_t capacity = self->capacity ? self->capacity * 2 : 128;
        char **items = helio_arena_alloc(self->arena, capacity, sizeof *items);
        if (self->count)
            memcpy(items, self->items, self->count * sizeof *items);
        self->items = items;
        self->capacity = capacity;
    }
    self->items[self->count++] = entry;
    self->items[self->count] = NULL;
}

void helio_environment_read(helio_environment_t *self, helio_text_t entries)
{
    char *bytes = helio_arena_alloc(self->arena, (size_t)entries.size + 1, 1);
    if (entries.size)
        memcpy(bytes, entries.data, entries.size);
    for (uint32_t at = 0; at < entries.size; at += (uint32_t)strlen(bytes + at) + 1)
        add(self, bytes + at);
}

static char *entry_of(helio_environment_t *self, const char *name, helio_text_t value)
{
    size_t size = strlen(name);
    char *entry = helio_arena_alloc(self->arena, size + 1 + value.size + 1, 1);
    memcpy(entry, name, size);
    entry[size] = '=';
    if (value.size)
        memcpy(entry + size + 1, value.data, value.size);
    return entry;
}

void helio_environment_set(helio_environment_t *self, helio_variable_t variable, helio_text_t value)
{
    const char *name = helio_variable_name(variable);
    char **there = find(self->items, self->count, name);
    if (there)
        *there = entry_of(self, name, value);
    else
        add(self, entry_of(self, name, value));
}

void helio_environment_set_number(helio_environment_t *self, helio_variable_t variable, uint32_t value)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", value);
    helio_environment_set(self, variable, helio_text_of(text));
}

void helio_environment_set_rank(helio_environment_t *self, uint32_t rank, helio_text_t devices)
{
    helio_environment_set_number(self, HELIO_VARIABLE_NODE_RANK, rank);
    helio_environment_set_number(self, HELIO_VARIABLE_GPUS, helio_device_count(devices));
    helio_environment_set(self, HELIO_VARIABLE_CUDA_DEVICES, devices);
}

void helio_environment_add(helio_environment_t *self, const char *name, helio_text_t value)
{
    if (!find(self->items, self->count, name))
        add(self, entry_of(self, name, value));
}

const char *helio_environment_get(const helio_environment_t *self, helio_variable_t variable)
{
    const char *name = helio_variable_name(variable);
    char **there = find(self->items, self->count, name);
    return there ? *there + strlen(name) + 1 : NULL;
}

const char *helio_environ_get(char *const *list, helio_variable_t variable)
{
    const char *name = helio_variable_name(variable);
    size_t size = strlen(name);
    for (size_t i = 0; list && list[i]; i++)
        if (strncmp(list[i], name, size) == 0 && list[i][size] == '=')
            return list[i] + size + 1;
    return NULL;
}

helio_environment_t helio_environment_copy(const helio_environment_t *self)
{
    helio_environment_t copy = {.arena = self->arena};
    for (uint32_t i = 0; i < self->count; i++)
        add(&copy, self->items[i]);
    return copy;
}

uint32_t helio_device_count(helio_text_t devices)
{
    if (!devices.size || helio_text_is(devices, "NoDevFiles"))
        return 0;
    uint32_t count = 1;
    for (uint32_t i = 0; i < devices.size; i++)
        count += devices.data[i] == ',';
    return count;
}
