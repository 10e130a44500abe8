-- Sums of usage of accounts that have much of it, over all of their keys, models or both, so that reads of a year have few rows to
-- add up. They are made of usage_days, usage_outcomes and usage_tags, of the days before usage_rollup_ends.until_day, and equal
-- them in every transaction; see control/book/rollups. Versions before read and write the tables of days alone, as ever.

-- The first day of the month of a day; both in days since 1970, UTC.
CREATE OR REPLACE FUNCTION first_of_month(day integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT day + 1 - date_part('day', DATE '1970-01-01' + day)::integer
$$;

-- The sum of integers as an integer; sum(bigint) is numeric, and takes several times as long for many groups. Statements with it run in
-- one process: to start others takes longer than to add up what a page of usage reads.
CREATE OR REPLACE AGGREGATE bigint_sum(bigint) (SFUNC = int8pl, STYPE = bigint, INITCOND = '0', PARALLEL = UNSAFE);

CREATE TABLE IF NOT EXISTS usage_rollups (
  account_id text COLLATE "C" NOT NULL,
  -- The length of a period.
  span text COLLATE "C" NOT NULL CHECK (span IN ('day', 'month')),
  -- What the sums are of: 'key_model' of each key with each model, 'outcome' of each outcome, by month with each model.
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('all', 'key', 'model', 'key_model', 'outcome', 'tag', 'user')),
  -- The first day of the period.
  period integer NOT NULL,
  -- The key, outcome, tag or user; '' where there is none, and for the tags and users that are added up together.
  name text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  requests bigint NOT NULL, units bigint NOT NULL, input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
  PRIMARY KEY (account_id, span, kind, period, name, model)
) WITH (fillfactor = 70);

-- The first day of an account that is not in its rollups yet; accounts without a row have none.
CREATE TABLE IF NOT EXISTS usage_rollup_ends (
  account_id text COLLATE "C" PRIMARY KEY,
  until_day integer NOT NULL
) WITH (fillfactor = 70);

-- How far the present pass over all accounts is, which rolls up to until_day.
CREATE TABLE IF NOT EXISTS usage_rollup_pass (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  until_day integer NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  is_done boolean NOT NULL
) WITH (fillfactor = 50);
INSERT INTO usage_rollup_pass (until_day, account_id, is_done) VALUES (0, '', true) ON CONFLICT DO NOTHING;

-- Adds what is booked of a day that is rolled up already. The lock waits for a transaction that rolls the account up, which in turn
-- waits for those that have it, so that one of both sees the rows of the other.
CREATE OR REPLACE FUNCTION roll_up_late_usage() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ends integer;
  fresh jsonb;
  before jsonb;
  owner text := NEW.account_id;
  of_day integer;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('usage of ' || owner, 0));
  SELECT until_day INTO ends FROM usage_rollup_ends WHERE account_id = owner;
  IF ends IS NULL THEN
    RETURN NULL;
  END IF;
  fresh := to_jsonb(NEW);
  of_day := coalesce(fresh ->> 'day', fresh ->> 'period');
  IF of_day >= ends THEN
    RETURN NULL;
  END IF;
  before := CASE TG_OP WHEN 'UPDATE' THEN to_jsonb(OLD) ELSE '{}' END;
  INSERT INTO usage_rollups AS u
  SELECT owner, c.span, c.kind, CASE c.span WHEN 'day' THEN of_day ELSE first_of_month(of_day) END,
    coalesce(c.name, ''), coalesce(c.model, ''),
    NEW.requests - coalesce((before ->> 'requests')::bigint, 0),
    NEW.units - coalesce((before ->> 'units')::bigint, 0),
    NEW.input_tokens - coalesce((before ->> 'input_tokens')::bigint, 0),
    NEW.cached_input_tokens - coalesce((before ->> 'cached_input_tokens')::bigint, 0),
    NEW.output_tokens - coalesce((before ->> 'output_tokens')::bigint, 0)
  FROM (VALUES
    ('usage_days', 'day', 'all', '', ''),
    ('usage_days', 'day', 'key', fresh ->> 'key_id', ''),
    ('usage_days', 'day', 'model', '', fresh ->> 'model'),
    ('usage_days', 'month', 'key', fresh ->> 'key_id', ''),
    ('usage_days', 'month', 'model', '', fresh ->> 'model'),
    ('usage_days', 'month', 'key_model', fresh ->> 'key_id', fresh ->> 'model'),
    ('usage_outcomes', 'day', 'outcome', fresh ->> 'outcome', ''),
    ('usage_outcomes', 'month', 'outcome', fresh ->> 'outcome', fresh ->> 'model'),
    ('usage_tags', 'month', fresh ->> 'kind', fresh ->> 'value', '')
  ) AS c (source, span, kind, name, model)
  WHERE c.source = TG_TABLE_NAME
  ON CONFLICT (account_id, span, kind, period, name, model) DO UPDATE
    SET requests = u.requests + excluded.requests, units = u.units + excluded.units,
      input_tokens = u.input_tokens + excluded.input_tokens,
      cached_input_tokens = u.cached_input_tokens + excluded.cached_input_tokens,
      output_tokens = u.output_tokens + excluded.output_tokens;
  RETURN NULL;
END
$$;

-- Days are rolled up an hour after their end, and no transaction takes an hour: the trigger looks at rows before today alone.
CREATE OR REPLACE TRIGGER usage_days_late AFTER INSERT OR UPDATE ON usage_days FOR EACH ROW
  WHEN (NEW.day < (now() AT TIME ZONE 'UTC')::date - DATE '1970-01-01') EXECUTE FUNCTION roll_up_late_usage();
CREATE OR REPLACE TRIGGER usage_outcomes_late AFTER INSERT OR UPDATE ON usage_outcomes FOR EACH ROW
  WHEN (NEW.day < (now() AT TIME ZONE 'UTC')::date - DATE '1970-01-01') EXECUTE FUNCTION roll_up_late_usage();
CREATE OR REPLACE TRIGGER usage_tags_late AFTER INSERT OR UPDATE ON usage_tags FOR EACH ROW
  WHEN (NEW.hours = 24 AND NEW.period < (now() AT TIME ZONE 'UTC')::date - DATE '1970-01-01') EXECUTE FUNCTION roll_up_late_usage();
