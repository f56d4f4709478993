/*  shape.c -- nodes, tasks, CPUs, GPUs and memory: sbatch counts them per job, task, CPU or GPU; a job file counts
 *  them per node. */
#include <string.h>

#include "client/sbatch/internal.h"

static helio_rc count_of(sbatch_t *self, uint32_t id, uint64_t most, uint32_t *ret_count)
{
    const sbatch_value_t *value = sbatch_given(self, id);
    if (!value || sbatch_count(value->text, most, ret_count))
        return HELIO_OK;
    return sbatch_refuse(self, value, NULL, "--%s: must be a whole number from 1 to %llu, found '%.64s'",
                         helio_sbatch_option(id)->name, (unsigned long long)most, value->text);
}

/*  The options as given, before they are combined. */
typedef struct said {
    uint32_t nodes, tasks, tasks_per_node, cpus_per_task, tasks_per_gpu, cpus_per_gpu, least_cpus;
    uint32_t gpus, gpus_per_node, gpus_per_task, gres;
    bool gpus_said, gpus_per_node_said, gpus_per_task_said, gres_said, gres_has_model;
} said_t;

static helio_rc read_counts(sbatch_t *self, said_t *said)
{
    const struct {
        uint32_t id;
        uint64_t most;
        uint32_t *target;
    } counts[] = {
        {HELIO_SBATCH_NTASKS, 1 << 24, &said->tasks},
        {HELIO_SBATCH_NTASKS_PER_NODE, 4096, &said->tasks_per_node},
        {HELIO_SBATCH_CPUS_PER_TASK, 4096, &said->cpus_per_task},
        {HELIO_SBATCH_NTASKS_PER_GPU, 4096, &said->tasks_per_gpu},
        {HELIO_SBATCH_CPUS_PER_GPU, 4096, &said->cpus_per_gpu},
        {HELIO_SBATCH_MINCPUS, 4096, &said->least_cpus},
    };
    helio_rc rc = HELIO_OK;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && rc == HELIO_OK; i++)
        rc = count_of(self, counts[i].id, counts[i].most, counts[i].target);
    const sbatch_value_t *nodes = sbatch_given(self, HELIO_SBATCH_NODES);
    bool range = false;
    if (rc == HELIO_OK && nodes && !sbatch_nodes(nodes->text, &said->nodes, &range))
        return sbatch_refuse(self, nodes, NULL, "--nodes: must be a number or LEAST-MOST, found '%.64s'", nodes->text);
    if (range)
        sbatch_note(self, "--nodes=%s: Heliostat needs a fixed number of nodes, and takes %u", nodes->text,
                    said->nodes);
    if (sbatch_own_key(self, "nodes"))
        said->nodes = self->own.spec.nodes;
    return rc;
}

static helio_rc take_model(sbatch_t *self, const sbatch_value_t *value, const char *model)
{
    sbatch_shape_t *shape = &self->shape;
    if (model[0] && shape->gpu_model[0] && strcmp(model, shape->gpu_model) != 0)
        return sbatch_refuse(self, value, "`#HELIO gpu: [H100:8, A100:8]` accepts either model",
                             "the job requests two GPU models, %s and %s, but only one is possible", shape->gpu_model,
                             model);
    if (model[0])
        shape->gpu_model = model;
    return HELIO_OK;
}

static helio_rc read_gpus(sbatch_t *self, uint32_t id, uint32_t *ret_count, bool *ret_said)
{
    const sbatch_value_t *value = sbatch_given(self, id);
    const char *model;
    if (!value)
        return HELIO_OK;
    if (!sbatch_gpus(value->text, self->arena, &model, ret_count))
        return sbatch_refuse(self, value, "such as 8, or h100:8",
                             "--%s: must be one number of GPUs, with or without a model, found '%.64s'",
                             helio_sbatch_option(id)->name, value->text);
    *ret_said = true;
    return take_model(self, value, model);
}

/*  gpu[:model][:count]; all other resources are specific to one cluster. */
static helio_rc read_gres(sbatch_t *self, said_t *said)
{
    const sbatch_value_t *value = sbatch_given(self, HELIO_SBATCH_GRES);
    if (!value || strcasecmp(value->text, "none") == 0)
        return HELIO_OK;
    for (const char *at = value->text; *at; at += *at == ',') {
        size_t size = strcspn(at, ",");
        const char *entry = helio_arena_string(self->arena, (helio_text_t){at, (uint32_t)size});
        const char *model;
        uint32_t count;
        at += size;
        if (strncmp(entry, "gres:", 5) == 0 || strncmp(entry, "gres/", 5) == 0)
            entry += 5;
        bool gpu = strncmp(entry, "gpu", 3) == 0 && (entry[3] == '\0' || entry[3] == ':');
        if (!gpu)
            return sbatch_refuse(self, value, "remove it, or submit the job with sbatch at its cluster",
                                 "--gres: only gpu is supported, found '%.64s'", entry);
        if (!sbatch_gpus(entry[3] ? entry + 4 : "1", self->arena, &model, &count))
            return sbatch_refuse(self, value, "such as gpu:8, gpu:h100 or gpu:h100:8",
                                 "--gres: must be gpu[:MODEL][:COUNT], found '%.64s'", entry);
        helio_rc rc = count ? take_model(self, value, model) : HELIO_OK;
        if (rc != HELIO_OK)
            return rc;
        if (said->gres_said && (said->gres_has_model != (model[0] != '\0')))
            return sbatch_refuse(self, value, NULL,
                                 "--gres: requests GPUs both with and without a model; sbatch refuses it, too");
        said->gres_has_model = model[0] != '\0';
        said->gres += count;
        said->gres_said = true;
    }
    return HELIO_OK;
}

static uint32_t up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

/*  As Slurm without --nodes: enough nodes for the requests per job and per node. */
static uint32_t nodes_of(const said_t *said)
{
    if (said->nodes)
        return said->nodes;
    if (said->tasks && said->tasks_per_node)
        return up(said->tasks, said->tasks_per_node);
    if (said->gpus && said->gpus_per_node)
        return up(said->gpus, said->gpus_per_node);
    if (said->gpus && said->gres)
        return up(said->gpus, said->gres);
    return 1;
}

/*  GPUs per node, from all options that request them; the options must agree. */
static helio_rc resolve_gpus(sbatch_t *self, said_t *said)
{
    sbatch_shape_t *shape = &self->shape;
    uint32_t ids[4], counts[4], count = 0;
    if (said->gpus_said && said->gpus % shape->nodes)
        return sbatch_refuse(self, sbatch_given(self, HELIO_SBATCH_GPUS), "use --gpus-per-node instead",
                             "%u GPUs cannot be divided evenly among %u nodes", said->gpus, shape->nodes);
    if (said->gpus_said && said->gpus_per_task && !said->tasks)
        said->tasks = up(said->gpus, said->gpus_per_task);
    if (!said->tasks_per_node && said->tasks)
        shape->tasks_per_node = up(said->tasks, shape->nodes);
    if (said->gpus_per_task_said && !shape->tasks_per_node)
        return sbatch_refuse(self, sbatch_given(self, HELIO_SBATCH_GPUS_PER_TASK), "add --ntasks",
                             "--gpus-per-task requires the number of tasks");
#define WAY(said_it, id, value)  \
    if (said_it) {               \
        ids[count] = id;         \
        counts[count++] = value; \
    }
    WAY(said->gres_said, HELIO_SBATCH_GRES, said->gres)
    WAY(said->gpus_per_node_said, HELIO_SBATCH_GPUS_PER_NODE, said->gpus_per_node)
    WAY(said->gpus_said, HELIO_SBATCH_GPUS, said->gpus / shape->nodes)
    WAY(said->gpus_per_task_said, HELIO_SBATCH_GPUS_PER_TASK, said->gpus_per_task * shape->tasks_per_node)
#undef WAY
    for (uint32_t i = 0; i < count; i++) {
        if (counts[i] != counts[0])
            return sbatch_refuse(self, sbatch_given(self, ids[i]), NULL, "--%s requests %u GPUs per node, --%s %u",
                                 helio_sbatch_option(ids[i])->name, counts[i], helio_sbatch_option(ids[0])->name,
                                 counts[0]);
        if (counts[i] > SBATCH_GPUS_PER_NODE_MAX)
            return sbatch_refuse(self, sbatch_given(self, ids[i]), "add --nodes to divide them",
                                 "%u GPUs on one node, and a node has at most %d", counts[i], SBATCH_GPUS_PER_NODE_MAX);
    }
    shape->gpus = count ? counts[0] : 0;
    shape->gpus_per_task = said->gpus_per_task;
    return HELIO_OK;
}

static helio_rc resolve_cpus(sbatch_t *self, const said_t *said)
{
    sbatch_shape_t *shape = &self->shape;
    uint64_t tasks = shape->tasks_per_node, cpus = 0;
    if (!tasks && said->tasks_per_gpu && shape->gpus)
        tasks = (uint64_t)said->tasks_per_gpu * shape->gpus;
    if (tasks || said->cpus_per_task)
        cpus = (tasks ? tasks : 1) * (said->cpus_per_task ? said->cpus_per_task : 1);
    if (said->cpus_per_gpu && (uint64_t)said->cpus_per_gpu * shape->gpus > cpus)
        cpus = (uint64_t)said->cpus_per_gpu * shape->gpus;
    if (said->least_cpus > cpus)
        cpus = said->least_cpus;
    if (cpus > 4096) {
        const sbatch_value_t *value = sbatch_given(self, HELIO_SBATCH_NTASKS);
        if (!value)
            value = sbatch_given(self, HELIO_SBATCH_NTASKS_PER_NODE);
        return sbatch_refuse(self, value, "add --nodes to divide them",
                             "%llu CPUs on one node, and a node has at most 4096", (unsigned long long)cpus);
    }
    shape->cpus = (uint32_t)cpus;
    return HELIO_OK;
}

static helio_rc resolve_memory(sbatch_t *self)
{
    static const uint32_t ids[] = {HELIO_SBATCH_MEM, HELIO_SBATCH_MEM_PER_CPU, HELIO_SBATCH_MEM_PER_GPU};
    sbatch_shape_t *shape = &self->shape;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const sbatch_value_t *value = sbatch_given(self, ids[i]);
        uint64_t bytes, times = 1;
        if (!value)
            continue;
        if (!sbatch_memory(value->text, &bytes))
            return sbatch_refuse(self, value, NULL, "--%s: must be a size such as 4000, 512M or 64G, found '%.64s'",
                                 helio_sbatch_option(ids[i])->name, value->text);
        if (ids[i] == HELIO_SBATCH_MEM_PER_CPU)
            times = shape->cpus ? shape->cpus : 1;
        if (ids[i] == HELIO_SBATCH_MEM_PER_GPU && !shape->gpus)
            return sbatch_refuse(self, value, "add --gpus-per-node", "--mem-per-gpu requires the number of GPUs");
        if (ids[i] == HELIO_SBATCH_MEM_PER_GPU)
            times = shape->gpus;
        if (bytes == 0)
            sbatch_note(self, "--%s=0: a job cannot request all memory of a node; it gets the site's default",
                        helio_sbatch_option(ids[i])->name);
        shape->memory_bytes = bytes * times;
    }
    return HELIO_OK;
}

helio_rc sbatch_resolve_shape(sbatch_t *self)
{
    said_t said = {0};
    self->shape = (sbatch_shape_t){.gpu_model = ""};
    helio_rc rc = read_counts(self, &said);
    if (rc == HELIO_OK)
        rc = read_gres(self, &said);
    if (rc == HELIO_OK)
        rc = read_gpus(self, HELIO_SBATCH_GPUS, &said.gpus, &said.gpus_said);
    if (rc == HELIO_OK)
        rc = read_gpus(self, HELIO_SBATCH_GPUS_PER_NODE, &said.gpus_per_node, &said.gpus_per_node_said);
    if (rc == HELIO_OK)
        rc = read_gpus(self, HELIO_SBATCH_GPUS_PER_TASK, &said.gpus_per_task, &said.gpus_per_task_said);
    if (rc != HELIO_OK)
        return rc;
    self->shape.nodes = nodes_of(&said);
    if (self->shape.nodes > HELIO_JOB_NODES_MAX)
        return sbatch_refuse(self, sbatch_given(self, HELIO_SBATCH_NODES), NULL, "%u nodes, and a job has at most %d",
                             self->shape.nodes, HELIO_JOB_NODES_MAX);
    self->shape.tasks_per_node = said.tasks_per_node;
    rc = resolve_gpus(self, &said);
    if (rc == HELIO_OK)
        rc = resolve_cpus(self, &said);
    if (rc == HELIO_OK)
        rc = resolve_memory(self);
    if (rc == HELIO_OK && said.tasks > 1 && !said.nodes && !said.tasks_per_node && self->shape.nodes == 1)
        sbatch_note(self, "--ntasks=%u without --nodes: all tasks run on one node", said.tasks);
    return rc;
}
