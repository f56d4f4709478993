/*  plot.c -- writes plots as SVG. */
#include "simulator/experiment/plot.h"

#include <math.h>
#include <stdio.h>

enum {
    WIDTH = 960,
    LEFT = 110, /* of the labels of rows and axes */
    RIGHT = 12,
    TOP = 8,
    BELOW = 22, /* of the labels of columns */
    ROW = 14,
    PLOT = 180, /* height of the area */
    SHADES = 20 /* more cannot be told from one another */
};
static const double AREA = WIDTH - LEFT - RIGHT;

void exp_plot_escape(helio_text_t text, helio_buffer_t *out)
{
    for (uint32_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        const char *word = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : NULL;
        if (word)
            helio_buffer_text(out, word);
        else if (c >= ' ' && c != 0x7f)
            helio_buffer_append(out, &c, 1);
    }
}

static void begin(const char *label, int height, helio_buffer_t *out)
{
    helio_buffer_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, height);
    exp_plot_escape(helio_text_of(label), out);
    helio_buffer_text(out, "\">");
}

static double x_of(double column, uint32_t columns)
{
    return LEFT + AREA * column / columns;
}

static void put_ticks(const exp_tick_t *ticks, uint32_t count, uint32_t columns, int height, helio_buffer_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        double x = x_of(ticks[i].column, columns);
        helio_buffer_printf(out, "<line class=\"tick\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", x, x, height,
                            height + 4);
        helio_buffer_printf(out, "<text x=\"%.1f\" y=\"%d\">", x + 2, height + 15);
        exp_plot_escape(helio_text_of(ticks[i].text), out);
        helio_buffer_text(out, "</text>");
    }
}

static int shade(double value)
{
    return (int)lround(fmin(1, fmax(0, value)) * SHADES);
}

/*  Neighbours of one shade are one rectangle. */
static void put_row(const exp_heat_t *heat, uint32_t row, helio_buffer_t *out)
{
    const double *values = heat->values + (size_t)row * heat->columns;
    for (uint32_t from = 0, to; from < heat->columns; from = to) {
        for (to = from + 1; to < heat->columns && shade(values[to]) == shade(values[from]); to++) {
        }
        if (shade(values[from]))
            helio_buffer_printf(out, "<rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" fill-opacity=\"%.2f\"/>",
                                x_of(from, heat->columns), TOP + row * ROW, AREA * (to - from) / heat->columns, ROW - 2,
                                (double)shade(values[from]) / SHADES);
    }
}

void exp_plot_heat(const exp_heat_t *heat, helio_buffer_t *out)
{
    int bottom = TOP + (int)heat->row_count * ROW;
    begin(heat->label, bottom + BELOW, out);
    for (uint32_t i = 0; i < heat->row_count; i++) {
        helio_buffer_printf(out, "<text class=\"end\" x=\"%d\" y=\"%u\">", LEFT - 6, TOP + i * ROW + ROW - 4);
        exp_plot_escape(heat->rows[i], out);
        helio_buffer_printf(out, "</text><rect class=\"none\" x=\"%d\" y=\"%u\" width=\"%.0f\" height=\"%d\"/>", LEFT,
                            TOP + i * ROW, AREA, ROW - 2);
    }
    helio_buffer_text(out, "<g class=\"heat\">");
    for (uint32_t i = 0; i < heat->row_count; i++)
        put_row(heat, i, out);
    helio_buffer_text(out, "</g>");
    put_ticks(heat->ticks, heat->tick_count, heat->columns, bottom, out);
    helio_buffer_text(out, "</svg>\n");
}

/*  One, two or five times a power of ten, not less than the value. */
static double round_up(double value)
{
    if (value <= 0)
        return 1;
    double power = pow(10, floor(log10(value)));
    static const double steps[] = {1, 2, 5, 10};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (value <= steps[i] * power * (1 + 1e-9))
            return steps[i] * power;
    return 10 * power;
}

static void put_heights(double most, const char *unit, helio_buffer_t *out)
{
    for (int i = 0; i <= 4; i++) {
        double y = TOP + PLOT * (1 - i / 4.0);
        helio_buffer_printf(out, "<line class=\"grid\" x1=\"%d\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
                            LEFT + AREA, y, y);
        helio_buffer_printf(out, "<text class=\"end\" x=\"%d\" y=\"%.1f\">%.4g %s</text>", LEFT - 6, y + 4,
                            most * i / 4, unit);
    }
}

/*  Between the sums below a series and those with it, in steps. */
static void put_area(const exp_stack_t *stack, uint32_t series, double *sums, double most, helio_buffer_t *out)
{
    const double *values = stack->values + (size_t)series * stack->columns;
    double height = TOP + PLOT;
    helio_buffer_printf(out, "<path class=\"s%u\" d=\"", series);
    for (uint32_t i = 0; i < stack->columns; i++)
        helio_buffer_printf(out, "%s%.1f %.1fH%.1f", i ? "L" : "M", x_of(i, stack->columns),
                            height - PLOT * (sums[i] + values[i]) / most, x_of(i + 1, stack->columns));
    for (uint32_t i = stack->columns; i-- > 0;)
        helio_buffer_printf(out, "L%.1f %.1fH%.1f", x_of(i + 1, stack->columns), height - PLOT * sums[i] / most,
                            x_of(i, stack->columns));
    helio_buffer_text(out, "Z\"/>");
    for (uint32_t i = 0; i < stack->columns; i++)
        sums[i] += values[i];
}

void exp_plot_stack(const exp_stack_t *stack, helio_buffer_t *out)
{
    double most = 0;
    helio_arena_t *arena = helio_arena_new();
    double *sums = helio_arena_alloc(arena, stack->columns, sizeof *sums);
    for (uint32_t i = 0; i < stack->columns; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < stack->series_count; k++)
            sum += stack->values[(size_t)k * stack->columns + i];
        most = fmax(most, sum);
    }
    most = round_up(most);
    begin(stack->label, TOP + PLOT + BELOW, out);
    for (uint32_t k = 0; k < stack->series_count; k++)
        put_area(stack, k, sums, most, out);
    put_heights(most, stack->unit, out);
    put_ticks(stack->ticks, stack->tick_count, stack->columns, TOP + PLOT, out);
    helio_buffer_text(out, "</svg>\n");
    helio_arena_destroy(&arena);
}

void exp_plot_lines(const exp_lines_t *lines, helio_buffer_t *out)
{
    begin(lines->label, TOP + PLOT + BELOW, out);
    put_heights(100, "%", out);
    for (uint32_t k = 0; k < lines->series_count; k++) {
        helio_buffer_printf(out, "<polyline class=\"l%u%s\" points=\"", k % EXP_PLOT_SERIES_MAX,
                            k < EXP_PLOT_SERIES_MAX ? "" : " again");
        for (uint32_t i = 0; i < lines->points; i++)
            helio_buffer_printf(out, "%.1f,%.1f ", x_of(i, lines->points - 1),
                                TOP + PLOT * (1 - lines->values[(size_t)k * lines->points + i]));
        helio_buffer_text(out, "\"/>");
    }
    put_ticks(lines->ticks, lines->tick_count, lines->points - 1, TOP + PLOT, out);
    helio_buffer_text(out, "</svg>\n");
}
