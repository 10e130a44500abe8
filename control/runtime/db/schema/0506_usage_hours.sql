-- Sums of receipts of all accounts by hour of the hold, provider, model and outcome: the error code of a receipt, or its status where
-- it has none. Without the account, so that there are few rows.
CREATE TABLE IF NOT EXISTS usage_hours (
  -- Hours since 1970, UTC.
  hour integer NOT NULL,
  -- '' for requests that reached none.
  provider text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  -- Input tokens have those that were cached or written to a cache, output tokens those of reasoning.
  requests bigint NOT NULL, units bigint NOT NULL, input_tokens bigint NOT NULL, cached_input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL, cache_write_tokens bigint NOT NULL, reasoning_tokens bigint NOT NULL,
  PRIMARY KEY (hour, provider, model, outcome)
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS archived_usage_hours (
  month text COLLATE "C" NOT NULL,
  hour integer NOT NULL,
  provider text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  requests bigint NOT NULL, units bigint NOT NULL, input_tokens bigint NOT NULL, cached_input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL, cache_write_tokens bigint NOT NULL, reasoning_tokens bigint NOT NULL,
  PRIMARY KEY (month, hour, provider, model, outcome)
);

CREATE TABLE IF NOT EXISTS audited_usage_hours (
  hour integer NOT NULL,
  provider text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  requests numeric NOT NULL, units numeric NOT NULL, input_tokens numeric NOT NULL, cached_input_tokens numeric NOT NULL,
  output_tokens numeric NOT NULL, cache_write_tokens numeric NOT NULL, reasoning_tokens numeric NOT NULL,
  PRIMARY KEY (hour, provider, model, outcome)
);

-- Sums of a batch by hour, which are added to usage_hours when the batch is counted, for many batches together. JSON, as of HourCell
-- in control/book/statistics/usageHours.ts; null where a version before has booked the batch, whose receipts are read then.
ALTER TABLE statistics_batches ADD COLUMN IF NOT EXISTS hours text;
-- Up to where the receipts of a log are in usage_hours. Those that the statistics had counted before there was this table follow.
ALTER TABLE statistics_cursors ADD COLUMN IF NOT EXISTS hours_position bigint NOT NULL DEFAULT 0;
