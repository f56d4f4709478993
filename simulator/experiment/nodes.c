/*  nodes.c -- a ring of nodes for each number of free GPUs. */
#include "simulator/experiment/nodes.h"

#include <assert.h>
#include <stdlib.h>

/*  The head of ring k is entry count + k of both arrays. */
static void insert(exp_nodes_t *self, uint32_t node)
{
    uint32_t k = self->free_gpus[node], head = self->count + k, first = self->next[head];
    self->next[head] = node;
    self->before[node] = head;
    self->next[node] = first;
    self->before[first] = node;
    self->by_gpus[k]++;
}

static void drop(exp_nodes_t *self, uint32_t node)
{
    self->next[self->before[node]] = self->next[node];
    self->before[self->next[node]] = self->before[node];
    self->by_gpus[self->free_gpus[node]]--;
}

void exp_nodes_init(exp_nodes_t *self, uint32_t count, uint32_t gpus_per_node)
{
    assert(gpus_per_node <= HELIO_JOB_GPUS_PER_NODE_MAX);
    size_t entries = (size_t)count + gpus_per_node + 1;
    *self = (exp_nodes_t){.count = count, .gpus_per_node = gpus_per_node, .offered = count};
    self->free_gpus = helio_new(count ? count : 1, sizeof *self->free_gpus);
    self->withdrawn = helio_new(count ? count : 1, sizeof *self->withdrawn);
    self->next = helio_new(entries, sizeof *self->next);
    self->before = helio_new(entries, sizeof *self->before);
    for (uint32_t head = count; head < entries; head++)
        self->next[head] = self->before[head] = head;
    for (uint32_t node = count; node-- > 0;) {
        self->free_gpus[node] = gpus_per_node;
        insert(self, node);
    }
}

void exp_nodes_clear(exp_nodes_t *self)
{
    free(self->free_gpus);
    free(self->withdrawn);
    free(self->next);
    free(self->before);
    *self = (exp_nodes_t){0};
}

bool exp_nodes_take(exp_nodes_t *self, uint32_t nodes, uint32_t gpus, uint32_t *ret_nodes)
{
    uint64_t able = 0;
    for (uint32_t k = gpus; k <= self->gpus_per_node; k++)
        able += self->by_gpus[k];
    if (able < nodes)
        return false;
    uint32_t taken = 0;
    for (uint32_t k = gpus; taken < nodes; k++)
        for (uint32_t node = self->next[self->count + k], next; node != self->count + k && taken < nodes; node = next) {
            next = self->next[node];
            ret_nodes[taken++] = node;
        }
    for (uint32_t i = 0; i < taken; i++) {
        drop(self, ret_nodes[i]);
        self->free_gpus[ret_nodes[i]] -= gpus;
        insert(self, ret_nodes[i]);
    }
    return true;
}

void exp_nodes_give(exp_nodes_t *self, const uint32_t *nodes, uint32_t count, uint32_t gpus)
{
    for (uint32_t i = 0; i < count; i++) {
        assert(nodes[i] < self->count && self->free_gpus[nodes[i]] + gpus <= self->gpus_per_node);
        drop(self, nodes[i]);
        self->free_gpus[nodes[i]] += gpus;
        insert(self, nodes[i]);
    }
}

void exp_nodes_withdraw(exp_nodes_t *self, uint32_t node)
{
    assert(node < self->count && self->free_gpus[node] == self->gpus_per_node);
    if (self->withdrawn[node])
        return;
    self->withdrawn[node] = true;
    self->offered--;
    drop(self, node);
}

void exp_nodes_offer(exp_nodes_t *self, uint32_t node)
{
    assert(node < self->count && self->free_gpus[node] == self->gpus_per_node);
    if (!self->withdrawn[node])
        return;
    self->withdrawn[node] = false;
    self->offered++;
    insert(self, node);
}

uint32_t exp_nodes_allocated(const exp_nodes_t *self)
{
    uint32_t idle = 0;
    for (uint32_t k = 1; k <= self->gpus_per_node; k++)
        idle += k * self->by_gpus[k];
    return self->offered * self->gpus_per_node - idle;
}
