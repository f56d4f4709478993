/*  meter.c -- a site's electricity meter, for the balance's test: it knows what every device draws (the trace), and
 *  nothing of jobs, counters or the book. Prints the count so far in kWh, every five minutes up to the time in the
 *  clock's file, as CSV.
 *
 *      balance_meter TRACE CLOCK
 *
 *  TRACE: "PUE BEGIN_S BASE_W" (all that is always drawn), then lines "FROM_S TO_S WATTS" of what is drawn beside it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES_MAX = 256, STEP_S = 300 };

int main(int argc, char **argv)
{
    double pue = 1, base = 0, from[LINES_MAX], to[LINES_MAX], watts[LINES_MAX];
    long long begin = 0, now = 0;
    int lines = 0;
    FILE *trace = argc == 3 ? fopen(argv[1], "re") : NULL, *clock = argc == 3 ? fopen(argv[2], "re") : NULL;
    if (!trace || !clock || fscanf(trace, "%lf %lld %lf", &pue, &begin, &base) != 3 || fscanf(clock, "%lld", &now) != 1)
        return 1;
    while (lines < LINES_MAX && fscanf(trace, "%lf %lf %lf", &from[lines], &to[lines], &watts[lines]) == 3)
        lines++;
    (void)puts("time,value");
    for (long long at = begin; at <= now; at += STEP_S) {
        double joules = base * (double)(at - begin);
        for (int i = 0; i < lines; i++)
            joules += watts[i] * fmax(0, fmin(to[i], (double)at) - fmin(from[i], (double)at));
        (void)printf("%lld,%.3f\n", at, 70000 + joules * pue / 3.6e6); /* it has counted before */
    }
    (void)fclose(trace);
    (void)fclose(clock);
    return 0;
}
