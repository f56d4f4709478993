/*  cheapest.c -- a bound by prices of room. Whatever is charged for a GPU-hour at a place and hour (no less than 0), the
 *  work cannot cost less than what it would pay at the cheapest places with these charges, less the charges for all the
 *  room there is: this is the dual of the transport problem. Two steps find good charges:
 *
 *  fill   as if all classes could run wherever one of them can. The work of the last hour has the fewest hours to go to,
 *         so from the last hour to the first, each takes the cheapest room that is left in its hours. With one class,
 *         the charges that follow from it reach the least cost itself.
 *  adjust several classes compete for some places alone. Their work is spread smoothly over what is nearly cheapest,
 *         and a charge rises where more comes than there is room, and falls where less does: Sinkhorn's scaling of
 *         transport with an entropy term that becomes smaller and smaller. */
#include "simulator/experiment/cheapest.h"

#include <math.h>
#include <stdlib.h>

#include "federation/base/heap.h"

enum { LEVELS = 6, ROUNDS = 30 /* for each level of smoothness: ten times as many gain less than 1 % */ };
static const double SMOOTH = .04; /* the first level, of the mean cost of a GPU-hour; each is half of the one before */

typedef struct slot {
    helio_heap_item_t item;
    double cost, left;
} slot_t;

typedef struct search {
    const exp_problem_t *problem;
    const exp_demand_t *demand;
    bool may_wait;
    uint32_t places, classes;
    double *charge; /* hours × places */
    double *flow;   /* likewise: of the smooth spread */
    double *weight; /* of the class at hand, by hour: the logarithm of what is spread by it */
} search_t;

static double rate(const search_t *self, uint32_t class_, uint32_t hour, uint32_t place)
{
    const exp_problem_t *problem = self->problem;
    double per_kwh = problem->per_kwh[(size_t)hour * self->places + place];
    size_t at = (size_t)class_ * self->places + place;
    return problem->fixed[place] + fmin(per_kwh * problem->kw_low[at], per_kwh * problem->kw_high[at]);
}

static double work(const search_t *self, uint32_t class_, uint32_t hour)
{
    return hour < self->demand->hours ? self->demand->gpu_hours[(size_t)hour * self->classes + class_] : 0;
}

/*  ---- fill ---- */

static bool is_cheaper(helio_heap_item_t *a, helio_heap_item_t *b)
{
    return HELIO_HEAP_OWNER(a, slot_t, item)->cost < HELIO_HEAP_OWNER(b, slot_t, item)->cost;
}

/*  costs: hours × places, of the class that has it cheapest; INFINITY = no class may be there. */
static double *cheapest_rates(const search_t *self)
{
    const exp_problem_t *problem = self->problem;
    size_t count = (size_t)problem->hours * self->places;
    double *costs = helio_new(count, sizeof *costs);
    for (size_t i = 0; i < count; i++)
        costs[i] = INFINITY;
    for (uint32_t k = 0; k < self->classes; k++)
        for (uint32_t hour = 0; hour < problem->hours; hour++)
            for (uint32_t i = 0; i < problem->classes->items[k].place_count; i++) {
                uint32_t place = problem->classes->items[k].places[i];
                double *cost = &costs[(size_t)hour * self->places + place];
                *cost = fmin(*cost, rate(self, k, hour, place));
            }
    return costs;
}

static void offer(const search_t *self, uint32_t hour, const double *costs, slot_t *slots, helio_heap_t *heap)
{
    for (uint32_t place = 0; place < self->places; place++) {
        size_t at = (size_t)hour * self->places + place;
        slots[at] = (slot_t){.cost = costs[at], .left = self->problem->room[at]};
        if (slots[at].left > 0 && isfinite(costs[at]))
            helio_heap_put(heap, &slots[at].item);
    }
}

/*  The cost of the last GPU-hour; -INFINITY = there was nothing to take. */
static double take(double amount, helio_heap_t *heap)
{
    double last = -INFINITY;
    helio_heap_item_t *first;
    while (amount > 0 && (first = helio_heap_first(heap))) {
        slot_t *slot = HELIO_HEAP_OWNER(first, slot_t, item);
        double used = fmin(amount, slot->left);
        last = slot->cost;
        amount -= used;
        slot->left -= used;
        if (slot->left <= 0)
            (void)helio_heap_take(heap);
    }
    return last;
}

/*  prices[hour]: what the work of that hour pays. Work of a later hour has fewer hours to go to and pays no less. */
static void fill(const search_t *self, const double *costs, double *prices)
{
    uint32_t hours = self->problem->hours;
    slot_t *slots = helio_new((size_t)hours * self->places, sizeof *slots);
    helio_heap_t heap = {.before = is_cheaper};
    for (uint32_t hour = hours; hour-- > 0;) {
        double amount = 0;
        for (uint32_t k = 0; k < self->classes; k++)
            amount += work(self, k, hour);
        while (!self->may_wait && helio_heap_take(&heap)) {
        }
        offer(self, hour, costs, slots, &heap);
        prices[hour] = take(amount, &heap);
    }
    for (uint32_t hour = 1; self->may_wait && hour < hours; hour++)
        prices[hour] = fmax(prices[hour], prices[hour - 1]);
    helio_heap_clear(&heap);
    free(slots);
}

static void charge_by_fill(search_t *self)
{
    uint32_t hours = self->problem->hours;
    double *costs = cheapest_rates(self), *prices = helio_new(hours, sizeof *prices);
    fill(self, costs, prices);
    for (uint32_t hour = 0; hour < hours; hour++)
        for (uint32_t place = 0; place < self->places; place++) {
            size_t at = (size_t)hour * self->places + place;
            self->charge[at] = fmax(0, prices[hour] - costs[at]);
        }
    free(costs);
    free(prices);
}

/*  ---- the bound by the charges as they are ---- */

static double paid_by(const search_t *self, uint32_t class_)
{
    const exp_class_t *item = &self->problem->classes->items[class_];
    double least = INFINITY, sum = 0;
    for (uint32_t hour = self->problem->hours; hour-- > 0;) {
        least = self->may_wait ? least : INFINITY;
        for (uint32_t i = 0; i < item->place_count; i++) {
            size_t at = (size_t)hour * self->places + item->places[i];
            if (self->problem->room[at] > 0)
                least = fmin(least, rate(self, class_, hour, item->places[i]) + self->charge[at]);
        }
        double amount = work(self, class_, hour);
        sum += amount > 0 && isfinite(least) ? amount * least : 0;
    }
    return sum;
}

static double bound(const search_t *self)
{
    double sum = 0;
    for (uint32_t k = 0; k < self->classes; k++)
        sum += paid_by(self, k);
    for (size_t i = 0; i < (size_t)self->problem->hours * self->places; i++)
        sum -= self->charge[i] * self->problem->room[i];
    return sum;
}

/*  ---- adjust ---- */

static double log_sum(double a, double b)
{
    double more = fmax(a, b), less = fmin(a, b);
    return isinf(less) ? more : more + log1p(exp(less - more));
}

/*  The logarithm of how much the class likes the slot; -INFINITY = it has no room. */
static double liking(const search_t *self, uint32_t class_, uint32_t hour, uint32_t place, double smooth)
{
    size_t at = (size_t)hour * self->places + place;
    if (self->problem->room[at] <= 0)
        return -INFINITY;
    return -(rate(self, class_, hour, place) + self->charge[at]) / smooth;
}

/*  The work of each hour goes to its slots in proportion to how they are liked. */
static void spread(search_t *self, uint32_t class_, double smooth)
{
    const exp_class_t *item = &self->problem->classes->items[class_];
    double liked = -INFINITY, come = -INFINITY;
    for (uint32_t hour = self->problem->hours; hour-- > 0;) {
        double amount = work(self, class_, hour);
        liked = self->may_wait ? liked : -INFINITY;
        for (uint32_t i = 0; i < item->place_count; i++)
            liked = log_sum(liked, liking(self, class_, hour, item->places[i], smooth));
        self->weight[hour] = amount > 0 && isfinite(liked) ? log(amount) - liked : -INFINITY;
    }
    for (uint32_t hour = 0; hour < self->problem->hours; hour++) {
        come = self->may_wait ? log_sum(come, self->weight[hour]) : self->weight[hour];
        for (uint32_t i = 0; i < item->place_count && isfinite(come); i++)
            self->flow[(size_t)hour * self->places + item->places[i]] +=
                exp(come + liking(self, class_, hour, item->places[i], smooth));
    }
}

static void adjust_once(search_t *self, double smooth)
{
    size_t count = (size_t)self->problem->hours * self->places;
    for (size_t i = 0; i < count; i++)
        self->flow[i] = 0;
    for (uint32_t k = 0; k < self->classes; k++)
        spread(self, k, smooth);
    for (size_t i = 0; i < count; i++)
        if (self->problem->room[i] > 0)
            self->charge[i] =
                self->flow[i] > 0 ? fmax(0, self->charge[i] + smooth * log(self->flow[i] / self->problem->room[i])) : 0;
}

/*  Of the work, as if each class were spread evenly over its slots. */
static double mean_rate(const search_t *self)
{
    double sum = 0, amount = 0;
    for (uint32_t k = 0; k < self->classes; k++) {
        const exp_class_t *item = &self->problem->classes->items[k];
        for (uint32_t hour = 0; hour < self->problem->hours; hour++)
            for (uint32_t i = 0; i < item->place_count; i++) {
                double share = work(self, k, hour) / item->place_count;
                sum += share * fabs(rate(self, k, hour, item->places[i]));
                amount += share;
            }
    }
    return amount > 0 ? sum / amount : 0;
}

static double adjust(search_t *self, double best)
{
    double smooth = SMOOTH * mean_rate(self);
    self->flow = helio_new((size_t)self->problem->hours * self->places, sizeof *self->flow);
    self->weight = helio_new(self->problem->hours, sizeof *self->weight);
    for (int level = 0; smooth > 0 && level < LEVELS; level++, smooth /= 2)
        for (int i = 0; i < ROUNDS; i++) {
            adjust_once(self, smooth);
            best = fmax(best, bound(self));
        }
    free(self->flow);
    free(self->weight);
    return best;
}

double exp_cheapest(const exp_problem_t *problem, const exp_demand_t *demand, bool may_wait)
{
    search_t self = {.problem = problem,
                     .demand = demand,
                     .may_wait = may_wait,
                     .places = problem->classes->place_count,
                     .classes = problem->classes->count};
    self.charge = helio_new((size_t)problem->hours * self.places, sizeof *self.charge);
    charge_by_fill(&self);
    double best = bound(&self);
    if (self.classes > 1)
        best = adjust(&self, best);
    free(self.charge);
    return best;
}
