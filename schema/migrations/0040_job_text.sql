-- Views show a job by its text. The text of one job takes a tenth of the time that it took, and a job is found by its text.

-- 26 digits of five bits each; two bits of the first one are always zero. The 120 bits after the first byte become digits in three
-- parts: each part is spread until every five bits have a zero before them, so that base64, with six bits a digit, has only 32 of its
-- digits left, which then are translated.
create or replace function helio.job_text(job uuid, task integer) returns text language plpgsql immutable parallel safe
    as $$
declare
    alphabet constant text := '0123456789abcdefghjkmnpqrstvwxyz';
    hex constant text := translate(job::text, '-', '');
    high constant integer := ('x' || left(hex, 2))::bit(8)::integer;
    a bigint := ('x' || substr(hex, 3, 10))::bit(40)::bigint;
    b bigint := ('x' || substr(hex, 13, 10))::bit(40)::bigint;
    c bigint := ('x' || substr(hex, 23, 10))::bit(40)::bigint;
begin
    a := ((a & x'fffff00000'::bigint) << 4) | (a & x'fffff'::bigint);
    b := ((b & x'fffff00000'::bigint) << 4) | (b & x'fffff'::bigint);
    c := ((c & x'fffff00000'::bigint) << 4) | (c & x'fffff'::bigint);
    a := ((a & x'ffc000ffc00'::bigint) << 2) | (a & x'3ff0003ff'::bigint);
    b := ((b & x'ffc000ffc00'::bigint) << 2) | (b & x'3ff0003ff'::bigint);
    c := ((c & x'ffc000ffc00'::bigint) << 2) | (c & x'3ff0003ff'::bigint);
    a := ((a & x'3e03e03e03e0'::bigint) << 1) | (a & x'1f01f01f01f'::bigint);
    b := ((b & x'3e03e03e03e0'::bigint) << 1) | (b & x'1f01f01f01f'::bigint);
    c := ((c & x'3e03e03e03e0'::bigint) << 1) | (c & x'1f01f01f01f'::bigint);
    return substr(alphabet, (high >> 5) + 1, 1) || substr(alphabet, (high & 31) + 1, 1)
        || translate(encode(substr(int8send(a), 3) || substr(int8send(b), 3) || substr(int8send(c), 3), 'base64'),
                     'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef', alphabet)
        || case when task >= 0 then '.' || task else '' end;
end
$$;

-- Of a job that is no array its id is the whole text; arrays are few, and their tasks are looked through.
create unique index jobs_text on helio.jobs (helio.job_text(job_id, -1)) where tasks is null;
create index jobs_arrays on helio.jobs (job_id) where tasks is not null;
