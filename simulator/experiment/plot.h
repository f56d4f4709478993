/*  plot.h -- plots as inline SVG, in the colours of the page that they are on (report.c). Pure.
 *
 *  Colours are CSS variables, --s0 to --s8 for series and --heat for shades, so that one plot is right on light and dark
 *  pages, and on paper. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_PLOT_H
#define HELIO_SIMULATOR_EXPERIMENT_PLOT_H

#include "federation/base/memory.h"

enum { EXP_PLOT_SERIES_MAX = 9 };

/*  Text for HTML: names come from files. */
void exp_plot_escape(helio_text_t text, helio_buffer_t *out);

/*  A label at the left edge of a column. */
typedef struct exp_tick {
    uint32_t column;
    char text[24];
} exp_tick_t;

/*  A grid of shades: values[row * columns + column] within 0..1. */
typedef struct exp_heat {
    const char *label; /* for those who cannot see it */
    const helio_text_t *rows;
    uint32_t row_count, columns;
    const double *values;
    const exp_tick_t *ticks;
    uint32_t tick_count;
} exp_heat_t;
void exp_plot_heat(const exp_heat_t *heat, helio_buffer_t *out);

/*  Areas on top of one another: values[series * columns + column], not negative. */
typedef struct exp_stack {
    const char *label, *unit;
    uint32_t series_count, columns;
    const double *values;
    const exp_tick_t *ticks;
    uint32_t tick_count;
} exp_stack_t;
void exp_plot_stack(const exp_stack_t *stack, helio_buffer_t *out);

/*  Lines within 0..1 in both directions: of each series `points` heights at equal distances. */
typedef struct exp_lines {
    const char *label;
    uint32_t series_count, points;
    const double *values;
    const exp_tick_t *ticks; /* column: a point */
    uint32_t tick_count;
} exp_lines_t;
void exp_plot_lines(const exp_lines_t *lines, helio_buffer_t *out);

#endif
