-- What sites keep of their pools by the clock is told as a series of its own.
create or replace function helio.signal_word(signal smallint) returns text language sql immutable parallel safe
    return (array ['free_gpus', 'price_usd_per_gpu_h', 'electricity_usd_per_kwh', 'carbon_g_per_kwh', 'pue',
        'power_watts', 'reserved_gpus'])[signal + 1];
