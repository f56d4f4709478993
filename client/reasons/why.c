/*  why.c -- compares the candidates of a decision, and says why each was or was not chosen. */
#include "client/reasons/why.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/output/humanise.h"
#include "client/output/output.h"
#include "client/reasons/held.h"
#include "client/reasons/rank.h"
#include "client/reasons/reply_details.h"
#include "federation/base/clock.h"
#include "federation/reason/codes.h"

static const json_t *candidates_of(const json_t *reply)
{
    return json_object_get(reply, "candidates");
}

static bool is_chosen(const json_t *reply, const json_t *candidate)
{
    const char *pool = helio_output_string(reply, "chosen_pool");
    return strcmp(helio_output_string(reply, "chosen"), helio_output_string(candidate, "site")) == 0 &&
           (!pool[0] || strcmp(pool, helio_output_string(candidate, "pool")) == 0);
}

static bool is_rejected(const json_t *candidate)
{
    return helio_output_string(candidate, "reason")[0] != '\0';
}

const json_t *helio_why_chosen(const json_t *reply)
{
    size_t i;
    json_t *candidate;
    json_array_foreach(candidates_of(reply), i, candidate)
    {
        if (is_chosen(reply, candidate))
            return candidate;
    }
    return NULL;
}

/*  A better place than the chosen one: similar jobs that were placed in the same round took its capacity. */
static bool is_taken(const json_t *reply, const json_t *candidate)
{
    const char *first = helio_output_string(reply, "first_choice");
    if (!first[0] || is_rejected(candidate) || is_chosen(reply, candidate))
        return false;
    return helio_output_number(candidate, "score_usd", NAN) <
               helio_output_number(helio_why_chosen(reply), "score_usd", NAN) ||
           (strcmp(first, helio_output_string(candidate, "site")) == 0 &&
            strcmp(helio_output_string(reply, "first_choice_pool"), helio_output_string(candidate, "pool")) == 0);
}

const json_t *helio_why_next_best(const json_t *reply)
{
    const json_t *best = NULL;
    size_t i;
    json_t *candidate;
    json_array_foreach(candidates_of(reply), i, candidate)
    {
        double score = helio_output_number(candidate, "score_usd", NAN);
        if (is_chosen(reply, candidate) || is_rejected(candidate) || is_taken(reply, candidate) || isnan(score))
            continue;
        if (!best || score < helio_output_number(best, "score_usd", NAN))
            best = candidate;
    }
    return best;
}

/* ---- differences --------------------------------------------------------------------------------------- */

typedef void human_fn(double value, char ret_text[HELIO_HUMAN_SIZE]);

/*  Whether a table shows both values by the same text. Where it shows two, no sentence calls them the same. */
static bool is_shown_alike(double a, double b, human_fn *human)
{
    char text_a[HELIO_HUMAN_SIZE], text_b[HELIO_HUMAN_SIZE];
    human(a, text_a);
    human(b, text_b);
    return strcmp(text_a, text_b) == 0;
}

/*  In a sentence, a difference is easier to read with a word for its direction than with a sign. */
static void difference_text(double a, double b, const char *what, human_fn *human, helio_buffer_t *out)
{
    char amount[HELIO_HUMAN_SIZE];
    if (is_shown_alike(a, b, human)) {
        helio_buffer_printf(out, "the same%s", what[0] ? what : " cost");
        return;
    }
    human(fabs(a - b), amount);
    helio_buffer_printf(out, "%s%s %s", amount, what, a < b ? "less" : "more");
}

typedef double figure_fn(const json_t *candidate);

/*  NAN where the price is unknown: a cost of 0 would be a claim. */
static double cost_of(const json_t *candidate)
{
    bool unknown = helio_reply_has_detail(candidate, HELIO_DETAIL_PRICE_UNKNOWN);
    return unknown ? NAN : helio_output_number(candidate, "cost_usd", NAN);
}

static double carbon_of(const json_t *candidate)
{
    return helio_output_number(candidate, "carbon_g", NAN);
}

void helio_why_difference(const json_t *a, const json_t *b, helio_buffer_t *out)
{
    double cost_a = cost_of(a), cost_b = cost_of(b), carbon_a = carbon_of(a), carbon_b = carbon_of(b);
    if (isnan(cost_a - cost_b) || isnan(carbon_a - carbon_b))
        return;
    difference_text(cost_a, cost_b, "", helio_human_money, out);
    helio_buffer_text(out, ", ");
    difference_text(carbon_a, carbon_b, " CO2e", helio_human_mass, out);
}

/*  "+$43", "-9.9 kg": of `a` compared with `b`; nothing where a table shows them alike. */
static void signed_text(double a, double b, human_fn *human, const char *before, helio_buffer_t *out)
{
    char amount[HELIO_HUMAN_SIZE];
    if (isnan(a - b) || is_shown_alike(a, b, human))
        return;
    human(fabs(a - b), amount);
    helio_buffer_printf(out, "%s%s%c%s", out->size ? ", " : "", before, a < b ? '-' : '+', amount);
}

/*  Brokers of this release send the term `disruption` under its former name too; older brokers send only that. */
#define FORMER_DISRUPTION "move"

/*  Names of score terms that a first reader would not understand. */
static const struct {
    const char *name, *label;
} terms[] = {{"shadow", "scarce GPUs"}, {FORMER_DISRUPTION, "disruption"}, {"wait", "waiting"}};

static const char *term_label(const char *name)
{
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++)
        if (strcmp(name, terms[i].name) == 0)
            return terms[i].label;
    return name;
}

static bool is_repeated_term(const json_t *all, const char *name)
{
    return strcmp(name, FORMER_DISRUPTION) == 0 && json_object_get(all, "disruption");
}

/*  "money +$43.00, carbon +$1.98": the terms of the score in which `a` differs from `b` by `least` or more; empty if
 *  the reply has none. */
static void term_differences(const json_t *a, const json_t *b, double least, helio_buffer_t *out)
{
    json_t *own = json_object_get(a, "terms");
    const json_t *other = json_object_get(b, "terms");
    const char *name;
    json_t *value;
    json_object_foreach(own, name, value)
    {
        char before[32];
        if (is_repeated_term(own, name) || !json_is_number(value))
            continue;
        (void)snprintf(before, sizeof before, "%.24s ", term_label(name));
        double mine = json_number_value(value), theirs = helio_output_number(other, name, NAN);
        if (fabs(mine - theirs) >= least)
            signed_text(mine, theirs, helio_human_money, before, out);
    }
}

void helio_why_behind(const json_t *reply, helio_buffer_t *out)
{
    const json_t *chosen = helio_why_chosen(reply), *other = helio_why_next_best(reply);
    double own = chosen ? helio_output_number(chosen, "score_usd", NAN) : NAN;
    double theirs = other ? helio_output_number(other, "score_usd", NAN) : NAN, gap = theirs - own;
    char amount[HELIO_HUMAN_SIZE];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t differences = {0};
    if (isnan(gap))
        return;
    helio_human_money(fabs(gap), amount);
    helio_buffer_printf(out, "%.64s, ", helio_output_string(other, "site"));
    bool equal = is_shown_alike(theirs, own, helio_human_money);
    if (equal)
        helio_buffer_text(out, "equal in score");
    else
        helio_buffer_printf(out, "%s %s in score", amount, gap > 0 ? "behind" : "ahead");
    term_differences(other, chosen, fmin(0.005, fabs(gap) / 10), &differences);
    if (differences.size)
        helio_buffer_printf(out, ": %s", differences.data);
    else
        helio_buffer_text(out, " (money, carbon and waiting together)");
    if (gap < 0 && !equal)
        helio_buffer_text(out, "; the table says why it was not chosen");
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/*  Only candidates that are not rejected. */
static bool is_least(const json_t *reply, const json_t *candidate, figure_fn *figure)
{
    double value = figure(candidate);
    size_t i;
    json_t *other;
    json_array_foreach(candidates_of(reply), i, other)
    {
        if (!is_rejected(other) && figure(other) < value)
            return false;
    }
    return !isnan(value);
}

/*  Neither cheapest nor cleanest: names the term of the score that it wins most by. */
static void best_overall(const json_t *candidate, const json_t *other, helio_buffer_t *out)
{
    json_t *own = json_object_get(candidate, "terms");
    const json_t *theirs = json_object_get(other, "terms");
    const char *name, *best = NULL;
    double most = 0;
    bool priced = !isnan(cost_of(candidate) - cost_of(other));
    json_t *value;
    json_object_foreach(own, name, value)
    {
        if (is_repeated_term(own, name) || (!priced && strcmp(name, "money") == 0))
            continue;
        double other_value = helio_output_number(theirs, name, NAN), own_value = json_number_value(value);
        double gain = other_value - own_value;
        if (gain > most && !is_shown_alike(other_value, own_value, helio_human_money)) {
            most = gain;
            best = name;
        }
    }
    char amount[HELIO_HUMAN_SIZE];
    helio_human_money(most, amount);
    helio_buffer_text(out, "best overall");
    if (!best)
        return;
    helio_buffer_text(out, ": ");
    helio_short_name(term_label(best), 24, out);
    helio_buffer_printf(out, " count%s %s less", strcmp(best, "shadow") ? "s" : "", amount);
}

/*  The other candidate has a lower score and was not chosen. */
static const char *despite_score(const json_t *other)
{
    static const helio_detail_code_t not_tried[] = {HELIO_DETAIL_PASSED_OVER, HELIO_DETAIL_SITE_LATE,
                                                    HELIO_DETAIL_FAILED_THERE};
    for (size_t i = 0; i < sizeof not_tried / sizeof not_tried[0]; i++)
        if (helio_reply_has_detail(other, not_tried[i]))
            return "best of the others";
    if (helio_reply_has_detail(other, HELIO_DETAIL_LONGER_WAIT))
        return "best for how long it waits";
    return helio_reply_has_detail(other, HELIO_DETAIL_GPU_NAMED_LATER) ? "its GPU model comes first in `gpu`"
                                                                       : "ranked first";
}

static void why_chosen(const json_t *reply, const json_t *candidate, double flexible_s, helio_buffer_t *out)
{
    const json_t *other = helio_why_next_best(reply);
    bool cheapest = is_least(reply, candidate, cost_of), cleanest = is_least(reply, candidate, carbon_of);
    if (helio_output_string(reply, "first_choice")[0])
        helio_buffer_text(out, "best of those with capacity left");
    else if (!other)
        helio_buffer_text(out, "the only one that can run it");
    else if (helio_output_number(other, "score_usd", NAN) < helio_output_number(candidate, "score_usd", NAN))
        helio_buffer_text(out, despite_score(other));
    else if (helio_output_number(other, "score_usd", NAN) == helio_output_number(candidate, "score_usd", NAN))
        helio_buffer_text(out, "equal to the next best");
    else if (cheapest && cleanest)
        helio_buffer_text(out, "cheapest and cleanest");
    else if (cheapest || cleanest)
        helio_buffer_text(out, cheapest ? "cheapest" : "cleanest");
    else
        best_overall(candidate, other, out);
    if (helio_reply_has_detail(candidate, HELIO_DETAIL_PRICE_UNKNOWN))
        helio_buffer_text(out, ", at an unknown price");
    if (helio_reply_has_detail(candidate, HELIO_DETAIL_POWER_ASSUMED))
        helio_buffer_text(out, ", by an assumed power");
    if (helio_reply_has_detail(candidate, HELIO_DETAIL_CARBON_ASSUMED))
        helio_buffer_text(out, ", by an assumed carbon intensity");
    bool waits = strcmp(helio_output_string(reply, "reason"), "WaitingForWindow") == 0;
    if (waits && flexible_s > 0) {
        char time[HELIO_HUMAN_SIZE];
        helio_human_duration(flexible_s, time);
        helio_buffer_printf(out, " within the %s that it may wait", time);
    }
}

/*  The time of a reply about a job that waits; INT64_MIN = the job does not wait. */
static int64_t waits_at_ms(const json_t *reply)
{
    int64_t at_ms = INT64_MIN;
    const char *state = helio_output_string(reply, "state");
    if (strcmp(state, "queued") != 0 && strcmp(state, "held") != 0)
        return at_ms;
    (void)!helio_rfc3339_parse(helio_text_of(helio_output_string(json_object_get(reply, "expected"), "at")), &at_ms);
    return at_ms;
}

/*  Rejections whose details say until when they were expected to last. The decision may be old, and that time over. */
static bool is_forecast(const char *rejection)
{
    static const helio_rejection_t of_a_forecast[] = {HELIO_REJECTION_NO_CAPACITY, HELIO_REJECTION_COST_CAP,
                                                      HELIO_REJECTION_CARBON_CAP};
    for (size_t i = 0; i < sizeof of_a_forecast / sizeof of_a_forecast[0]; i++)
        if (strcmp(rejection, helio_rejection_name(of_a_forecast[i])) == 0)
            return true;
    return false;
}

/*  The sentence of a candidate, without times that have passed for a job that still waits. */
static void detail_text(const json_t *reply, const json_t *candidate, helio_buffer_t *out)
{
    if (!is_forecast(helio_output_string(candidate, "reason")) ||
        !helio_reply_sentence_without_past(candidate, waits_at_ms(reply), out))
        helio_buffer_text(out, helio_output_string(candidate, "detail"));
}

/*  It waits for a better hour, though this pool could run it at once. */
static bool could_start_at_once(const json_t *reply, const json_t *row, int64_t start_ms)
{
    int64_t decided_ms;
    return strcmp(helio_output_string(reply, "reason"), helio_reason_name(HELIO_REASON_WAITING_FOR_WINDOW)) == 0 &&
           !is_rejected(row) &&
           helio_rfc3339_parse(helio_text_of(helio_output_string(reply, "decided_at")), &decided_ms) == HELIO_OK &&
           start_ms <= decided_ms;
}

/*  No start that an older decision expected and that has not come; one at once is one now. */
static void without_past_start(const json_t *reply, json_t *row)
{
    int64_t start_ms, now_ms = waits_at_ms(reply);
    if (helio_rfc3339_parse(helio_text_of(helio_output_string(row, "start")), &start_ms) != HELIO_OK ||
        start_ms >= now_ms)
        return;
    if (could_start_at_once(reply, row, start_ms))
        (void)json_object_set(row, "start", json_object_get(json_object_get(reply, "expected"), "at"));
    else
        (void)json_object_del(row, "start");
}

/*  The pool itself could take the job, and yet nothing was chosen: a limit that applies everywhere keeps it waiting, or
 *  other jobs were placed there since. */
static const char *blocked_by(const json_t *reply)
{
    if (helio_reply_has_detail(reply, HELIO_DETAIL_QUOTA_IN_USE) ||
        helio_reply_has_detail(reply, HELIO_DETAIL_QUOTA_TOO_SMALL))
        return helio_rejection_name(HELIO_REJECTION_QUOTA);
    if (helio_reply_has_detail(reply, HELIO_DETAIL_BUDGET_USED) ||
        helio_reply_has_detail(reply, HELIO_DETAIL_BUDGET_TOO_SMALL) ||
        helio_reply_has_detail(reply, HELIO_DETAIL_BUDGET_LIMITS_USED) ||
        helio_reply_has_detail(reply, HELIO_DETAIL_BUDGET_LIMIT_TOO_LONG))
        return helio_rejection_name(HELIO_REJECTION_BUDGET);
    bool full = strcmp(helio_output_string(reply, "reason"), helio_reason_name(HELIO_REASON_WAITING_FOR_CAPACITY)) == 0;
    return full && waits_at_ms(reply) != INT64_MIN ? "had room; other jobs have taken it" : "could run it";
}

/*  Nothing is chosen for a held job: what counts is how its attempts ended, and where it had none. */
static bool why_held(const json_t *reply, const json_t *candidate, helio_buffer_t *out)
{
    if (!helio_is_held(reply))
        return false;
    helio_held_attempts(reply, helio_output_string(candidate, "site"), out);
    if (!out->size && !is_rejected(candidate))
        helio_buffer_text(out, "not tried: the job was held first");
    return out->size > 0;
}

static void why(const json_t *reply, const json_t *candidate, double flexible_s, helio_buffer_t *out)
{
    const json_t *chosen = helio_why_chosen(reply);
    const char *reason = helio_output_string(candidate, "reason");
    if (why_held(reply, candidate, out))
        return;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    bool is_in_headline = reason[0] && helio_reply_details_equal(reply, candidate);
    if (!is_in_headline)
        detail_text(reply, candidate, &text);
    const char *detail = text.data ? text.data : "";
    if (reason[0])
        helio_buffer_printf(out, "%s%s%s", reason, detail[0] ? ": " : "", detail);
    else if (candidate == chosen)
        why_chosen(reply, candidate, flexible_s, out);
    else if (is_taken(reply, candidate))
        helio_buffer_text(out, "taken by similar jobs");
    else if (chosen) {
        double cost = cost_of(candidate), chosen_cost = cost_of(chosen);
        signed_text(cost, chosen_cost, helio_human_money, "", out);
        signed_text(carbon_of(candidate), carbon_of(chosen), helio_human_mass, "", out);
        if (!out->size)
            helio_buffer_text(out, isnan(cost - chosen_cost) ? "same CO2e" : "same cost, same CO2e");
    }
    if (!reason[0] && !chosen && helio_output_string(reply, "reason")[0])
        helio_buffer_text(out, blocked_by(reply));
    if (!reason[0] && detail[0]) /* the time to move its data */
        helio_buffer_printf(out, "%s%s", out->size ? "; " : "", detail);
}

static void without_false_figures(json_t *row)
{
    static const char *const figures[] = {"cost_usd", "energy_kwh", "carbon_g", "score_usd"};
    (void)json_object_del(row, "start");
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        double value = helio_output_number(row, figures[i], NAN);
        if (!isnan(value) && value > 0)
            return;
    }
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        (void)json_object_del(row, figures[i]);
}

json_t *helio_why_rows(const json_t *reply, double flexible_s)
{
    json_t *rows = json_array();
    size_t count;
    json_t **candidates =
        helio_rank(candidates_of(reply), helio_is_held(reply) ? NULL : helio_why_chosen(reply), &count);
    for (size_t i = 0; i < count; i++) {
        json_t *candidate = candidates[i];
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        why(reply, candidate, flexible_s, &text);
        json_t *row = json_copy(candidate);
        bool marked = is_chosen(reply, candidate) && !helio_is_held(reply);
        if (!row || json_object_set_new(row, "why", json_string(text.data ? text.data : "")) != 0 ||
            json_object_set_new(row, "chosen", json_string(marked ? "✔" : " ")) != 0 ||
            json_array_append_new(rows, row) != 0)
            abort();
        without_past_start(reply, row);
        if (helio_reply_has_detail(candidate, HELIO_DETAIL_PRICE_UNKNOWN))
            (void)json_object_del(row, "cost_usd");
        if (is_rejected(candidate))
            without_false_figures(row);
    }
    free(candidates);
    return rows;
}

void helio_why_run(const json_t *reply, helio_buffer_t *out)
{
    const json_t *run = json_object_get(reply, "run");
    double expected = helio_output_number(run, "duration_s", NAN),
           high = helio_output_number(run, "duration_p90_s", NAN),
           limit = helio_output_number(reply, "time_limit_s", NAN);
    double runs = helio_output_number(run, "runs", NAN), failed = helio_output_number(run, "failed", NAN);
    bool never_fits = strcmp(helio_output_string(reply, "reason"), "NeverFits") == 0;
    if (!json_is_object(run) || never_fits || isnan(expected) || isnan(high) || isnan(runs))
        return;
    char text[HELIO_HUMAN_SIZE], high_text[HELIO_HUMAN_SIZE];
    helio_human_run(expected, text);
    helio_human_run(high, high_text);
    const char *basis = helio_output_string(run, "basis"), *of = helio_output_string(run, "of");
    helio_buffer_printf(out, "%s (90%% of runs within %s), from %.0f run%s of ", text, high_text, runs,
                        runs == 1 ? "" : "s");
    if (strcmp(basis, "user") == 0)
        helio_buffer_printf(out, "user %.64s", of[0] ? of : "-");
    else if (strcmp(basis, "kind") == 0)
        helio_buffer_printf(out, "kind %.16s", of);
    else
        helio_buffer_printf(out, "%.64s", of);
    if (failed > 0)
        helio_buffer_printf(out, "; %.0f similar run%s failed or %s cancelled recently", failed, failed == 1 ? "" : "s",
                            failed == 1 ? "was" : "were");
    if (!isnan(limit) && limit > 0) {
        helio_human_duration(limit, text);
        helio_buffer_printf(out, "; time limit %s", text);
    }
}
