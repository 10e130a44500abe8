-- Public statistics: receipts summed up by day of the hold and model. What is in public_statistics may be read by everybody;
-- each time something was added to a row, at least statsAccountsMin accounts were behind what was added. Everything else
-- waits in waiting_statistics until so many are; see control/book/statistics.

CREATE TABLE public_statistics (
  -- Days since 1970, UTC; -1 for what was used on days that are not told.
  day integer NOT NULL,
  -- Empty for models that are not told apart.
  model text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  ok bigint NOT NULL,
  ended_by_client bigint NOT NULL,
  failed bigint NOT NULL,
  units bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  cache_write_5m_tokens bigint NOT NULL,
  cache_write_1h_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  -- How many took how long, as JSON by the bounds of control/book/statistics/buckets.ts; nobody but control adds them up.
  durations text NOT NULL,
  first_tokens text NOT NULL,
  PRIMARY KEY (day, model)
) WITH (fillfactor = 70);

CREATE TABLE waiting_statistics (
  LIKE public_statistics,
  -- The accounts behind a row, agents as the account that they belong to; fewer than statsAccountsMin.
  owners text[] NOT NULL,
  PRIMARY KEY (day, model)
);

-- What a batch of receipts adds up to, written in the transaction that books it, until it is counted: no two of them meet in
-- a row. In each log a batch has the places from the first up to but without the last, and ids are in the order of places.
CREATE TABLE statistics_batches (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  logs smallint[] NOT NULL,
  firsts bigint[] NOT NULL,
  lasts bigint[] NOT NULL,
  -- JSON, as of OwnedCell in control/book/statistics/cell.ts.
  cells text NOT NULL
);

-- Receipts before these places of the usage logs are counted. Those from before this table, and those that a control of
-- the version before books beside this one, are in no batch: they are counted from their rows.
CREATE TABLE statistics_cursors (
  log smallint PRIMARY KEY,
  position bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO statistics_cursors (log, position) SELECT log, 0 FROM generate_series(0, 64) AS log;

-- Of months that were put away only sums are left: how their requests ended is not known, nor how long they took.
-- To name fewer accounts than there are only has a row wait for longer.
INSERT INTO waiting_statistics
  SELECT day, model, sum(requests), 0, 0, 0, sum(units), sum(input_tokens - cached_input_tokens), sum(cached_input_tokens), 0, 0,
    sum(output_tokens), 0, '[]', '[]', (array_agg(DISTINCT coalesce(a.owner_id, u.account_id)))[1:32]
  FROM archived_usage_days u LEFT JOIN agents a ON a.id = u.account_id GROUP BY day, model;
