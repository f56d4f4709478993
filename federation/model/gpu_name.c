/*  gpu_name.c -- the parts of the driver's name of a GPU. */
#include "federation/model/gpu_name.h"

#include <string.h>
#include <strings.h>

#include "federation/base/char.h"

static const char *const vendors[] = {"NVIDIA", "Tesla", "GeForce", "Graphics Device", "AMD", "Instinct"};
/* A family's name alone is not a model: "RTX 4090", "RTX A6000", "Quadro GV100". */
static const char *const families[] = {"RTX", "GTX", "TITAN", "Quadro"};

static bool is_gap(char c)
{
    return c == ' ' || c == '_';
}

/*  The word stands at the beginning, with a gap after it. */
static bool begins(helio_text_t name, const char *word)
{
    size_t size = strlen(word);
    if (name.size <= size || !is_gap(name.data[size]))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!(is_gap(word[i]) ? is_gap(name.data[i]) : strncasecmp(&name.data[i], &word[i], 1) == 0))
            return false;
    return true;
}

static const char *first_of(helio_text_t name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (begins(name, words[i]))
            return words[i];
    return NULL;
}
#define FIRST_OF(name, words) first_of(name, words, sizeof(words) / sizeof(words)[0])

static helio_text_t rest_of(helio_text_t name, size_t from)
{
    return (helio_text_t){name.data + from, name.size - (uint32_t)from};
}

static helio_text_t without_vendor(helio_text_t name)
{
    for (const char *word = FIRST_OF(name, vendors); word; word = FIRST_OF(name, vendors))
        name = rest_of(name, strlen(word) + 1);
    return name;
}

static uint32_t word_size(helio_text_t name)
{
    uint32_t size = 0;
    while (size < name.size && !is_gap(name.data[size]) && name.data[size] != '-')
        size++;
    return size;
}

void helio_gpu_model_of(helio_text_t name, char ret_model[HELIO_GPU_MODEL_SIZE])
{
    uint32_t used = 0;
    name = without_vendor(name);
    for (bool family = true; family;) {
        const char *word = FIRST_OF(name, families);
        uint32_t size = word_size(name);
        for (uint32_t i = 0; i < size && used < HELIO_GPU_MODEL_SIZE - 1; i++)
            ret_model[used++] = name.data[i];
        family = word != NULL;
        name = rest_of(name, family ? size + 1 : size);
    }
    ret_model[used] = '\0';
}

bool helio_gpu_is_product(helio_text_t name)
{
    return FIRST_OF(name, vendors) != NULL;
}

bool helio_gpu_is_product_of(helio_text_t name, helio_text_t model)
{
    char own[HELIO_GPU_MODEL_SIZE];
    if (!model.size || !helio_gpu_is_product(name))
        return false;
    helio_gpu_model_of(name, own);
    return strlen(own) == model.size && strncasecmp(own, model.data, model.size) == 0;
}

uint64_t helio_gpu_product_memory(helio_text_t name)
{
    for (uint32_t at = 0; helio_gpu_is_product(name) && at < name.size; at++) {
        uint32_t end = at;
        uint64_t size = 0;
        if (at && !is_gap(name.data[at - 1]) && name.data[at - 1] != '-')
            continue;
        for (; end < name.size && helio_is_digit(name.data[end]) && size < 100000; end++)
            size = size * 10 + (uint64_t)(name.data[end] - '0');
        if (end > at && end + 2 <= name.size && strncasecmp(name.data + end, "gb", 2) == 0)
            return size << 30;
    }
    return 0;
}
