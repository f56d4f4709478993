/*  power.c -- the table of GPU models with their sources, and its reference page. */
#include "federation/energy/power.h"

#include <stddef.h>

/*  Sources.
 *
 *  Measured (A100, L40, L4, MI210: idle_w, and base_w + slope_w * utilisation by least squares): dos-group,
 *  "gpu_power_benchmark" (MIT licence, 2026), rounded here to watts. The error of the fit is 6.7 % for the A100, 4.9
 *  % for the L40, 2.4 % for the L4. Their MI210 data has no usable line over utilisation (R2 0.02): only its idle
 *  power is used, the rest follows the rule.
 *
 *  board_w: the vendors' data sheets for the named form factor: NVIDIA T4 70 W, L4 72 W, A10 150 W (A10G 150 W,
 *  Amazon EC2 G5), L40 300 W, A100 SXM4 400 W, H100 and H200 SXM5 700 W; AMD Instinct MI210 300 W. PCIe boards of
 *  the same name use less (H100 PCIe 350 W): a site with such boards sets `power` itself.
 *
 *  Rule for models without measurements: idle 12 %, base 25 %, base + slope 85 % of board_w. The measured A100,
 *  taken as the 400 W board, has 12, 21 and 82 %.
 *
 *  host_w: 25 % of board_w. Reference: an eight-GPU A100 node draws 3.43 kW, 428 W per GPU (Chien et al., HotCarbon
 *  2023); less the 328 W of the measured GPU at full utilisation, that leaves 100 W = 25 % of 400 W. This is a
 *  single reference: a site that knows its nodes sets `power` itself. */
#define HOST(board) ((board)*0.25)
#define BY_RULE(name, board)                                                                                        \
    {                                                                                                               \
        .model = name, .board_w = (board), .idle_w = (board)*0.12, .base_w = (board)*0.25, .slope_w = (board)*0.60, \
        .host_w = HOST(board)                                                                                       \
    }

static const helio_power_facts_t facts[] = {
    {.model = "A100",
     .measured = true,
     .board_w = 400,
     .idle_w = 48,
     .base_w = 86,
     .slope_w = 243,
     .host_w = HOST(400)},
    {.model = "L40", .measured = true, .board_w = 300, .idle_w = 37, .base_w = 64, .slope_w = 279, .host_w = HOST(300)},
    {.model = "L4", .measured = true, .board_w = 72, .idle_w = 17, .base_w = 52, .slope_w = 20, .host_w = HOST(72)},
    {.model = "MI210", .board_w = 300, .idle_w = 42, .base_w = 75, .slope_w = 180, .host_w = HOST(300)},
    BY_RULE("T4", 70),
    BY_RULE("A10", 150),
    BY_RULE("A10G", 150),
    BY_RULE("H100", 700),
    BY_RULE("H200", 700),
};
enum { FACTS = sizeof facts / sizeof facts[0] };

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/*  "H100", "h100", "H100-SXM"; not "H1000". */
static bool is_model(helio_text_t gpu, const char *model)
{
    uint32_t i = 0;
    for (; model[i]; i++)
        if (i >= gpu.size || upper(gpu.data[i]) != model[i])
            return false;
    return i == gpu.size || gpu.data[i] == '-' || gpu.data[i] == '_';
}

const helio_power_facts_t *helio_power_of(helio_text_t gpu)
{
    gpu = helio_gpu_model(gpu);
    for (size_t i = 0; i < FACTS; i++)
        if (is_model(gpu, facts[i].model))
            return &facts[i];
    return NULL;
}

const helio_power_facts_t *helio_power_row(uint32_t index)
{
    return index < FACTS ? &facts[index] : NULL;
}

bool helio_power_fill(helio_pool_t *pool)
{
    const helio_power_facts_t *known = helio_power_of(pool->gpu);
    if (!known || pool->idle_w > 0 || pool->base_w > 0 || pool->slope_w > 0 || pool->host_w > 0)
        return false;
    double part = helio_gpu_sevenths(pool->gpu) / 7.0; /* a slice's share of its GPU, and of that one's host */
    pool->idle_w = known->idle_w * part;
    pool->base_w = known->base_w * part;
    pool->slope_w = known->slope_w * part;
    pool->host_w = known->host_w * part;
    return true;
}

static bool gives_power(const helio_pool_t *pool)
{
    return pool->base_w > 0 || pool->slope_w > 0 || pool->host_w > 0;
}

static double full_w(const helio_power_facts_t *known)
{
    return known->host_w + known->base_w + known->slope_w;
}

static const helio_power_facts_t *highest(void)
{
    const helio_power_facts_t *most = &facts[0];
    for (size_t i = 1; i < FACTS; i++)
        most = full_w(&facts[i]) > full_w(most) ? &facts[i] : most;
    return most;
}

bool helio_pool_power_is_assumed(const helio_pool_t *pool)
{
    return pool->gpus_per_node && !gives_power(pool) && !helio_power_of(pool->gpu);
}

double helio_pool_watts(const helio_pool_t *pool, double utilisation)
{
    if (gives_power(pool) || !pool->gpus_per_node)
        return pool->host_w + pool->base_w + pool->slope_w * utilisation;
#ifdef HELIO_MUTANT_power_unknown_is_free
    return 0;
#endif
    const helio_power_facts_t *known = helio_power_of(pool->gpu);
    double part = helio_gpu_sevenths(pool->gpu) / 7.0;
    known = known ? known : highest();
    return (known->host_w + known->base_w + known->slope_w * utilisation) * part;
}

static const char page_head[] =
    "# Power by GPU model\n\n"
    "<!-- Made from federation/energy/power.c by its test. -->\n\n"
    "A pool whose site file names no `power` gets these figures by the model of its GPUs, in watts a GPU\n"
    "([energy](../energy.md#power-by-gpu-model)). An allocated GPU draws host + base + slope x utilisation;\n"
    "an unused GPU draws idle. A slice of a GPU gets its share. For a model that is not in this table, the\n"
    "site file has to name them: `helio-agent --check` fails without. If such a site joins all the same, the\n"
    "broker assumes host, base and slope of the model with the highest sum, so that unknown power never looks\n"
    "cheap or clean; the ledger says `assumed`.\n\n"
    "| model | board | idle | base | slope | host | source |\n|---|---|---|---|---|---|---|\n";
static const char page_tail[] =
    "\nThe board's maximum is the vendor's. The rule for models without a measurement: idle 12 %, base 25 %,\n"
    "base and slope together 85 % of it. The host's share is 25 % of it for all models. For the MI210, only the\n"
    "idle power is measured. The file that this page is made from names every source.\n";

void helio_power_page(helio_buffer_t *page)
{
    helio_buffer_text(page, page_head);
    for (size_t i = 0; i < FACTS; i++)
        helio_buffer_printf(page, "| %s | %g | %g | %g | %g | %g | %s |\n", facts[i].model, facts[i].board_w,
                            facts[i].idle_w, facts[i].base_w, facts[i].slope_w, facts[i].host_w,
                            facts[i].measured ? "measured" : "derived from the board's maximum");
    helio_buffer_text(page, page_tail);
}
