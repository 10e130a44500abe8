-- A series is promised to those who have tokens of it. Unavailable: why the catalog in force cannot serve it ('' where it can);
-- then nothing of it is sold. Broken: it has ended before its month, and its holders are paid back.
ALTER TABLE lock_series
  DROP CONSTRAINT lock_series_state_check,
  ADD CONSTRAINT lock_series_state_check CHECK (state IN ('open', 'broken', 'ended', 'closed')),
  ADD COLUMN unavailable text NOT NULL DEFAULT '';

-- Tokens of broken series that were taken back from their holders, and the coin for them: transfers of the kind lock_payback.
CREATE TABLE lock_paybacks (
  id text COLLATE "C" PRIMARY KEY,
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  account_id text COLLATE "C" NOT NULL,
  -- At the locked price.
  units bigint NOT NULL CHECK (units > 0),
  coin_nanos bigint NOT NULL CHECK (coin_nanos >= 0),
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX lock_paybacks_series ON lock_paybacks (series_id);
CREATE TRIGGER lock_paybacks_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON lock_paybacks
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
