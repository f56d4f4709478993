#!/usr/bin/env python3
"""What day-ahead markets had published when: a file for `helio simulate --price-forecast`, from the prices themselves.

usage: day_ahead.py PRICE.csv[.gz] OUT.csv.gz

A day-ahead market sets the prices of all hours of a day on the day before. Each day, at 14:00 local time, an issue has the
rest of that day and the next day. The markets publish earlier: EPEX SPOT's final results are due by 13:50 local time (12:50 in
Britain), ERCOT's at 13:30, CAISO's at 13:00. Real-time prices (PJM, Singapore, New South Wales) are not known ahead, and
their regions are left out.
"""
import csv
import datetime
import gzip
import sys
import zoneinfo

PUBLISHED = 14  # o'clock, local time
MARKETS = {'DE': 'Europe/Berlin', 'FR': 'Europe/Paris', 'GB': 'Europe/London', 'ES': 'Europe/Madrid', 'NL': 'Europe/Amsterdam',
           'US-CAL-CISO': 'America/Los_Angeles', 'US-TEX-ERCO': 'America/Chicago', 'US-NY-NYIS': 'America/New_York', 'JP-TK': 'Asia/Tokyo'}
HOUR = datetime.timedelta(hours=1)
UTC = datetime.timezone.utc


def opened(path, mode):
    return gzip.open(path, mode + 't', newline='') if path.endswith('.gz') else open(path, mode, newline='', encoding='utf-8')


def read(path):
    """The name of the price column, and prices by region and hour."""
    with opened(path, 'r') as file:
        rows = csv.DictReader(file)
        column = next(name for name in rows.fieldnames if name in ('price_usd_mwh', 'price_eur_mwh'))
        prices = {}
        for row in rows:
            if row['region'] in MARKETS and row[column]:
                hour = datetime.datetime.fromisoformat(row['utc_hour_iso8601'].replace('Z', '+00:00'))
                prices.setdefault(row['region'], {})[hour] = row[column]
    return column, prices


def issues(hours, zone):
    """Pairs of the time of an issue and its hours."""
    day = min(hours).astimezone(zone).date()
    while True:
        issued = datetime.datetime.combine(day, datetime.time(PUBLISHED), zone).astimezone(UTC)
        end = datetime.datetime.combine(day + datetime.timedelta(days=2), datetime.time(), zone).astimezone(UTC)
        if issued > max(hours):
            return
        first = issued.replace(minute=0)
        yield issued, [first + i * HOUR for i in range(int((end - first) / HOUR)) if first + i * HOUR in hours]
        day += datetime.timedelta(days=1)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    column, prices = read(sys.argv[1])
    with opened(sys.argv[2], 'w') as file:
        out = csv.writer(file, lineterminator='\n')
        out.writerow(['region', 'issue_utc', 'utc_hour_iso8601', column + '_forecast'])
        for region, hours in prices.items():
            for issued, ahead in issues(hours, zoneinfo.ZoneInfo(MARKETS[region])):
                for hour in ahead:
                    out.writerow([region, f'{issued:%Y-%m-%dT%H:%M:%SZ}', f'{hour:%Y-%m-%dT%H:%M:%SZ}', hours[hour]])


main()
