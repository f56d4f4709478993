#!/usr/bin/env python3
"""Pooling, training beside inference, and waiting for cleaner hours, over real traces and series: tables of docs/results.md.

usage: scenarios.py HELIO_SIMULATE [--only arms,inference,full,defer] [--out DIR] [--write FILE]
  --out DIR     keeps scenarios, bounds and results there (a temporary folder); scenarios and bounds that are there are kept
  --write FILE  puts the tables between the two comments of FILE; otherwise they are printed

HELIO_SCENARIOS names the folder of make.py, bounds.py and score.py, which judge every result; HELIO_DATA that of the traces and series.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

from policies import MOVES, check, run, saved, seconds, table, write

BEGIN = '<!-- figures: tests/bench/scenarios.py --write -->'
POOLING_GOAL = 95  # % of what one site with all nodes saves of waits and times to the end
DEFER_GOALS = {'24h': 80, '48h': 76, '96h': 72}  # % of what the best hours would save, as forecasts were issued
DEFER_POLICIES = 'isolated,greenest,balanced,clairvoyant-greenest'


def verdict(value, goal):
    return 'kept' if value >= goal else f'missed by {goal - value:.1f} points'


def make(tools, out, name, *options):
    """Builds the scenarios of that name; those that are there are kept."""
    if not glob.glob(os.path.join(out, name + '*', 'scenario.json')):
        data = os.environ.get('HELIO_DATA')
        words = ['--data', data, '--facts', data] if data else []
        subprocess.run([os.path.join(tools, 'make.py'), name, '--out', out, *options, *words], check=True, stderr=subprocess.DEVNULL)


def files_of(folder, without=None):
    """The options that name the scenario's files."""
    with open(os.path.join(folder, 'scenario.json'), encoding='utf-8') as file:
        files = json.load(file)['files']
    keys = (key for key in ('fleet', 'jobs', 'carbon', 'price', 'forecast', 'inference') if key != without)
    return ' '.join(f'--{key} {files[key]}' for key in keys if files.get(key))


def judged(simulate, tools, folder, words, without=None):
    """Rows that score.py accepts, and the bounds."""
    rows = run(simulate, folder, f'{files_of(folder, without)} --seed 1 {words}')
    check(tools, folder, rows)
    print(f"{os.path.relpath(folder)}: " + ', '.join(f"{row['policy']} {row['wall_s']:.0f} s" for row in rows), file=sys.stderr, flush=True)
    with open(os.path.join(folder, 'bounds.json'), encoding='utf-8') as file:
        return rows, json.load(file)


def command(folder, words, *more):
    return ['', '```', f'helio simulate {files_of(folder)} --seed 1 {words}', *more, '```', '']


# ---- pooling and phase ----

ARMS = (('isolated', 'isolated', 'each site alone'), ('aligned', 'least-wait', 'one federation, all clocks alike: pooling'),
        ('spread', 'least-wait', 'one federation, at the clocks of the sites'), ('pooled', 'isolated', 'one site with all nodes'))


def arms(simulate, tools, out):
    make(tools, out, 'arms')
    lines = ['## Pooling: four sites, 28 days, 70 % load', '',
             'Scenarios: `make.py arms --out DIR`; the same jobs in each of `DIR/arms-*`, with the policy of the table:',
             *command(os.path.join(out, 'arms-spread'), '--policy POLICY'),
             '| arm | policy | what it is | utilisation | mean wait | p95 | slowdown | mean time to the end |', '|---|---|---|---|---|---|---|---|']
    arm_rows = {}
    for arm, policy, text in ARMS:
        row = arm_rows[arm] = judged(simulate, tools, os.path.join(out, 'arms-' + arm), '--policy ' + policy)[0][0]
        lines.append(f"| {arm} | `{policy}` | {text} | {100 * row['utilization']:.1f} % | {seconds(row['wait_mean_s'])} | {seconds(row['wait_p95_s'])} | "
                     f"{row['slowdown_mean']:.3f} | {seconds(row['jct_mean_s'])} |")
    parts = []
    for what, key in (('the mean wait', 'wait_mean_s'), ('the mean time to the end', 'jct_mean_s')):
        alone, one = arm_rows['isolated'][key], arm_rows['pooled'][key]
        part = 100 * (alone - arm_rows['spread'][key]) / (alone - one)
        parts.append(f"{what}: {part:.1f} % of what one site with all nodes would save, goal {POOLING_GOAL} %: {verdict(part, POOLING_GOAL)}")
    return lines + ['', 'Of ' + '; of '.join(parts) + '.', '']


# ---- inference ----

def inference(simulate, tools, out):
    make(tools, out, 'inference')
    folder = os.path.join(out, 'inference')
    lines = ['## Training beside inference: six sites, 14 days, 70 % load', '',
             'Scenario: `make.py inference --out DIR`, in `DIR/inference`. Windows reserve GPUs in the shape of a week of real chat requests, in each site\'s '
             'local clock. The load counts training and inference together; utilisation is that of training. What is possible is an overestimate here: '
             'the bounds do not know what is reserved.', '']
    for title, words in (('', '--bound --policy isolated,least-wait,static-rank,cheapest,greenest'),
                         ('With checkpoints, so that jobs may move', f'--bound {MOVES} --policy least-wait,cheapest,greenest')):
        rows, bounds = judged(simulate, tools, folder, words)
        base = next(row for row in rows if row['policy'] == 'least-wait')
        short = max(row['reserve_shortfall_gpu_h'] for row in rows)
        lines += [f"{title + ': ' if title else ''}{base['jobs']:,} jobs, utilisation {100 * base['utilization']:.0f} % under `least-wait`. Jobs held at most "
                  f'{short:.1f} GPU-hours of what was reserved, under any of these policies.', *command(folder, words), table(rows), '']
    serving = bounds['serving']
    return lines + [f"The peaks of the six reserves together are {serving['sum_of_peaks_gpus']:,} GPUs, the peak of all of them at once "
                    f"{serving['peak_of_sum_gpus']:,} ({serving['pooling_saves_pct']} % less), by the bounds of the scenario.", '']


FULL_LOADS = ('0.7', '0.85')


def full(simulate, tools, out):
    """How full training makes what inference leaves."""
    lines = ['### How full training makes what inference leaves', '',
             'Scenarios: `make.py inference --out DIR --load LOAD`. Jobs make no checkpoints, so none starts that a later reserve would reach into.',
             '',
             '| load | policy | training | with inference | mean wait | p95 | longest wait | slowdown | largest | reserve held, GPU-h |',
             '|---|---|---|---|---|---|---|---|---|---|']
    for load in FULL_LOADS:
        parent = os.path.join(out, 'inference-' + load)
        make(tools, parent, 'inference', '--load', load)
        for row in judged(simulate, tools, os.path.join(parent, 'inference'), '--policy least-wait,greenest')[0]:
            lines.append(f"| {100 * float(load):.0f} % | `{row['policy']}` | {100 * row['utilization']:.1f} % | {100 * row['utilization_with_inference']:.1f} % | "
                         f"{seconds(row['wait_mean_s'])} | {seconds(row['wait_p95_s'])} | {seconds(row['wait_max_s'])} | {row['slowdown_mean']:.3f} | "
                         f"{row['slowdown_max']:,.0f} | {row['reserve_shortfall_gpu_h']:.1f} |")
    return lines + ['']


# ---- deferral ----

def shares(rows, region, base):
    """Of what the best hours would save against that base, in %, by policy."""
    return {row['policy']: 100 * (region[base] - row['carbon_kg']) / (region[base] - region['clairvoyant_kg']) for row in rows}


def mean(dicts, key):
    return sum(each[key] for each in dicts) / len(dicts)


def defer_line(simulate, tools, scenario):
    now, middle, built_in, references, late = [], [], [], [], 0
    folders = sorted(glob.glob(os.path.join(scenario, 'regions', '*')))
    for folder in folders:
        rows, bounds = judged(simulate, tools, folder, '--policy ' + DEFER_POLICIES)
        region = next(iter(bounds['regions'].values()))
        now.append(shares(rows, region, 'run_now_kg'))
        middle.append(shares(rows, region, 'window_mean_kg'))
        references.append(region['shares_pct'])
        built_in.append(shares(judged(simulate, tools, folder, '--policy greenest', 'forecast')[0], region, 'run_now_kg'))
        late += sum(row['deadline_misses'] for row in rows)
    cells = [os.path.basename(scenario)[len('defer-'):]]
    cells += [f'{mean(now, policy):.1f} % ({mean(middle, policy):.1f} %)' for policy in DEFER_POLICIES.split(',')[1:]]
    cells.insert(2, f"{mean(built_in, 'greenest'):.1f} %")
    cells += [f'{mean(references, name):.1f} %' if name in references[0] else '–' for name in ('mean7d', 'one_shot', 'replan')] + [str(late)]
    goal = DEFER_GOALS[cells[0].split('-', maxsplit=1)[0]]
    cells.append(f"{goal} %: {verdict(mean(now, 'greenest'), goal)}")
    return '| ' + ' | '.join(cells) + ' |', folders


def defer(simulate, tools, out):
    make(tools, out, 'defer')
    lines = [defer_line(simulate, tools, scenario) for scenario in sorted(glob.glob(os.path.join(out, 'defer-*')))]
    folders = lines[0][1]
    return [f'## Waiting for cleaner hours: {len(folders)} regions, forecasts as issued', '',
            'Scenarios: `make.py defer --out DIR`; one site a region, in `DIR/defer-*/regions/*`, so that no job can leave it. A job has six hours of work and may wait '
            'within a window of 24, 48 or 96 h:',
            *command(folders[0], '--policy ' + DEFER_POLICIES),
            'Share of what the best hours of each window would save against running at once (in parentheses: against the mean of the window), mean over the '
            'regions. The second column is without `--forecast`, by the built-in forecast. The mean of the last 7 days, one shot and replan are references that '
            'come with the scenarios; the last two have the same forecasts.', '',
            '| window | `greenest` | built-in forecast | `balanced` | `clairvoyant-greenest` | 7 days | one shot | replan | deadlines missed | goal of `greenest` |',
            '|---|---|---|---|---|---|---|---|---|---|',
            *(line for line, _ in lines), '']


PARTS = {'arms': arms, 'inference': inference, 'full': full, 'defer': defer}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('simulate')
    parser.add_argument('--only', default=','.join(PARTS), help='of ' + ', '.join(PARTS))
    parser.add_argument('--out')
    parser.add_argument('--write')
    options = parser.parse_args()
    tools = os.environ.get('HELIO_SCENARIOS')
    if not tools or not os.path.exists(os.path.join(tools, 'make.py')):
        sys.exit('scenarios.py: HELIO_SCENARIOS names no folder with make.py, bounds.py and score.py')
    names, simulate = options.only.split(','), os.path.realpath(options.simulate)
    for name in names:
        if name not in PARTS:
            parser.error(f'--only: {name} is none of {", ".join(PARTS)}')
    with tempfile.TemporaryDirectory() as temporary:
        out = os.path.realpath(options.out or temporary)
        text = '\n'.join(line for name in names for line in PARTS[name](simulate, tools, out))
    if options.write:
        write(options.write, BEGIN, text)
    else:
        print(text)


if __name__ == '__main__':
    main()
