#!/usr/bin/env python3
"""Computes the typical day of five grids, from which the quickstart makes its feed of carbon intensity.

    deploy/quickstart/typical_day.py [SOURCE_DIR] >deploy/quickstart/typical_day.csv

SOURCE_DIR holds carboncast_actual_2020_2021.csv.gz (region, utc_hour_iso8601, carbon_g_per_kwh, ...); the default is the directory
"energy" below HELIO_DATA. Each value is the median over all days of 2020 and 2021 of the emissions per kWh in that hour of the UTC
day: life cycle, average over all generation. Data: CarbonCast (see NOTICE).
"""
import csv, gzip, os, statistics, sys

GRIDS = ["SE", "DE", "PJM", "CISO", "AUS_QLD"]

folder = sys.argv[1] if len(sys.argv) == 2 else os.path.join(os.environ.get("HELIO_DATA", ""), "energy")
path = os.path.join(folder, "carboncast_actual_2020_2021.csv.gz")
if len(sys.argv) > 2 or not os.path.exists(path):
    sys.exit(f"usage: typical_day.py SOURCE_DIR (or HELIO_DATA=DIR): no file '{path}'")

known = {grid: [[] for _ in range(24)] for grid in GRIDS}
with gzip.open(path, "rt", newline="") as f:
    for row in csv.DictReader(f):
        if row["region"] in known:
            known[row["region"]][int(row["utc_hour_iso8601"][11:13])].append(float(row["carbon_g_per_kwh"]))

print("utc_hour", *GRIDS, sep=",")
for hour in range(24):
    print(hour, *(round(statistics.median(known[grid][hour])) for grid in GRIDS), sep=",")
