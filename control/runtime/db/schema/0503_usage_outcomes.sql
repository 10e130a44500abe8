-- Sums of receipts by day of the hold, model, provider and outcome: the error code of a receipt, or its status where it has none.
CREATE TABLE IF NOT EXISTS usage_outcomes (
  account_id text COLLATE "C" NOT NULL,
  -- Days since 1970, UTC.
  day integer NOT NULL,
  model text COLLATE "C" NOT NULL,
  -- '' for requests that reached none.
  provider text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  requests bigint NOT NULL, units bigint NOT NULL, input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
  PRIMARY KEY (account_id, day, model, provider, outcome)
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS archived_usage_outcomes (
  month text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  model text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  requests bigint NOT NULL, units bigint NOT NULL, input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
  PRIMARY KEY (month, account_id, day, model, provider, outcome)
);

CREATE TABLE IF NOT EXISTS audited_usage_outcomes (
  account_id text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  model text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  requests numeric NOT NULL, units numeric NOT NULL, input_tokens numeric NOT NULL,
  cached_input_tokens numeric NOT NULL, output_tokens numeric NOT NULL,
  PRIMARY KEY (account_id, day, model, provider, outcome)
);

-- Up to where the receipts of each usage log are in usage_outcomes. Those that were booked before there was this table follow.
CREATE TABLE IF NOT EXISTS usage_outcome_cursors (
  log smallint PRIMARY KEY,
  position bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO usage_outcome_cursors (log, position) SELECT log, 0 FROM generate_series(0, 64) AS log ON CONFLICT DO NOTHING;
