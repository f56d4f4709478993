/*  cloud_text.c -- what instances of providers cost and lose, as text. */
#include "simulator/experiment/cloud_text.h"

#include <math.h>
#include <string.h>

enum { NAME_WIDTH_LEAST = 12 }; /* as of the table above */

static double idle_gpu_hours(const exp_cloud_sum_t *sum)
{
    return fmax(0, sum->gpu_hours - sum->used_gpu_hours);
}

static double idle_usd(const exp_cloud_sum_t *sum)
{
    return fmax(0, sum->usd - sum->used_usd);
}

static void put(helio_json_writer_t *json, const char *key, bool known, double value, double to)
{
    helio_json_put_real(json, key, known ? round(value * to) / to : NAN);
}

static void put_count(helio_json_writer_t *json, const char *key, bool known, uint32_t count)
{
    if (known)
        helio_json_put_u64(json, key, count);
    else
        helio_json_put_null(json, key);
}

void exp_cloud_put(helio_json_writer_t *json, const exp_result_t *row, const exp_world_t *world)
{
    const exp_cloud_sum_t *sum = &row->cloud;
    bool known = exp_fleet_has_instances(world->fleet);
    put(json, "instance_hours", known, sum->hours, 100);
    put(json, "instance_idle_gpu_h", known, idle_gpu_hours(sum), 100);
    put(json, "instance_idle_usd", known, idle_usd(sum), 100);
    put_count(json, "nodes_taken", known, sum->taken);
    put_count(json, "interruptions", known, sum->interruptions);
    put(json, "interrupted_gpu_h", known, sum->lost_gpu_hours, 100);
}

void exp_cloud_print(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out)
{
    if (!exp_fleet_has_instances(world->fleet))
        return;
    int width = NAME_WIDTH_LEAST;
    for (uint32_t i = 0; i < count; i++)
        width = (int)strlen(results[i].policy) > width ? (int)strlen(results[i].policy) : width;
    helio_buffer_printf(out, "\n%-*s %11s %11s %11s %11s %12s %10s\n", width, "INSTANCES", "HOURS", "IDLE GPU-H",
                        "IDLE USD", "NODES TAKEN", "INTERRUPTED", "LOST GPU-H");
    for (uint32_t i = 0; i < count; i++) {
        const exp_cloud_sum_t *sum = &results[i].cloud;
        helio_buffer_printf(out, "%-*s %11.1f %11.1f %11.2f %11u %12u %10.1f\n", width, results[i].policy, sum->hours,
                            idle_gpu_hours(sum), idle_usd(sum), sum->taken, sum->interruptions, sum->lost_gpu_hours);
    }
}

void exp_cloud_page(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out)
{
    if (!exp_fleet_has_instances(world->fleet))
        return;
    helio_buffer_text(out, "<h2>Instances</h2><div class=\"wide\"><table><tr><th>policy</th><th>hours</th>"
                           "<th>idle GPU-hours</th><th>idle USD</th><th>nodes taken away</th><th>runs interrupted</th>"
                           "<th>GPU-hours lost</th></tr>\n");
    for (uint32_t i = 0; i < count; i++) {
        const exp_cloud_sum_t *sum = &results[i].cloud;
        helio_buffer_printf(out,
                            "<tr><td>%s</td><td>%.1f</td><td>%.1f</td><td>%.2f</td><td>%u</td><td>%u</td>"
                            "<td>%.1f</td></tr>\n",
                            results[i].policy, sum->hours, idle_gpu_hours(sum), idle_usd(sum), sum->taken,
                            sum->interruptions, sum->lost_gpu_hours);
    }
    helio_buffer_text(out,
                      "</table></div><p>Instances are those that were ordered for waiting jobs. They are paid from "
                      "the order to their end; what no job used of that is idle, and not in the cost above.</p>\n");
}
