-- Endpoints that customers have registered, each checked before it was written here. Keys of endpoints are not kept.
CREATE TABLE providers (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  name text NOT NULL,
  base_url text COLLATE "C" NOT NULL,
  dialect text NOT NULL CHECK (dialect IN ('openai', 'anthropic')),
  data_policy text NOT NULL CHECK (data_policy IN ('none', 'retained')),
  -- What the endpoint said it serves, when it was checked last.
  models text[] NOT NULL,
  checked_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  removed_at timestamptz,
  -- Registered providers that serve: what the operator admitted them for, what was measured of them, and what they earned.
  
  -- The owner offers the endpoint for serving, not for the list alone.
  offered boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX providers_endpoint ON providers (account_id, base_url) WHERE removed_at IS NULL;
CREATE INDEX providers_listed ON providers (id) WHERE removed_at IS NULL;

-- Keys of offered endpoints, in a table of their own that nothing else reads. Redis has them encrypted alone.
CREATE TABLE provider_keys (
  provider_id text COLLATE "C" PRIMARY KEY REFERENCES providers (id),
  api_key text NOT NULL
);

CREATE TABLE provider_admissions (
  id text COLLATE "C" PRIMARY KEY,
  provider_id text COLLATE "C" NOT NULL REFERENCES providers (id),
  -- Who is paid.
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  -- Of the catalog, and the provider's own name of it.
  model text COLLATE "C" NOT NULL,
  upstream_model text COLLATE "C" NOT NULL,
  -- Receipts of requests with this id or a later one go by these terms, until those of the next admission.
  from_id text COLLATE "C" NOT NULL,
  -- What is paid for a request: a share of its charge in 1/1000000, or prices in units per million tokens, never more than
  -- its charge.
  share_ppm integer CHECK (share_ppm BETWEEN 0 AND 1000000),
  input_price bigint,
  cached_input_price bigint,
  output_price bigint,
  -- Of a million eligible requests, while on probation and after it.
  canary_ppm integer NOT NULL CHECK (canary_ppm BETWEEN 1 AND 1000000),
  full_ppm integer NOT NULL CHECK (full_ppm BETWEEN canary_ppm AND 1000000),
  probation_ms bigint NOT NULL CHECK (probation_ms >= 0),
  probation_requests integer NOT NULL CHECK (probation_requests >= 0),
  -- The bars: failures of requests, and different answers of comparisons, in 1/1000000; 95 of 100 first outputs of streams.
  error_ppm_max integer NOT NULL CHECK (error_ppm_max BETWEEN 0 AND 1000000),
  first_output_max_ms integer NOT NULL CHECK (first_output_max_ms > 0),
  mismatch_ppm_max integer NOT NULL CHECK (mismatch_ppm_max BETWEEN 0 AND 1000000),
  state text NOT NULL DEFAULT 'probation' CHECK (state IN ('probation', 'serving', 'suspended', 'removed')),
  state_at timestamptz NOT NULL DEFAULT now(),
  -- Why it is suspended or removed; empty for the others.
  reason text NOT NULL DEFAULT '',
  -- How often it was suspended by itself since the operator admitted or resumed it.
  suspensions integer NOT NULL DEFAULT 0,
  -- When a suspension ends by itself; null where the operator alone ends it.
  resumes_at timestamptz,
  admitted_at timestamptz NOT NULL DEFAULT now(),
  -- How long it was suspended, without a suspension that lasts.
  suspended_ms bigint NOT NULL DEFAULT 0,
  -- Receipts that were paid for, what they were charged, what was paid, and what of a unit is left over, in 1/1000000.
  receipts bigint NOT NULL DEFAULT 0,
  charged_units numeric(38, 0) NOT NULL DEFAULT 0,
  earned_units bigint NOT NULL DEFAULT 0,
  earned_nanos bigint NOT NULL DEFAULT 0,
  rest integer NOT NULL DEFAULT 0 CHECK (rest BETWEEN 0 AND 999999),
  CHECK (num_nonnulls(share_ppm, input_price) = 1),
  CHECK (num_nonnulls(input_price, cached_input_price, output_price) IN (0, 3))
);
CREATE UNIQUE INDEX provider_admissions_open ON provider_admissions (provider_id, model) WHERE state <> 'removed';
CREATE INDEX provider_admissions_terms ON provider_admissions (provider_id, model, from_id);
CREATE INDEX provider_admissions_account ON provider_admissions (account_id, id);

-- What the proxies measured, by minutes since 1970.
CREATE TABLE provider_measures (
  provider_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  minute integer NOT NULL,
  requests bigint NOT NULL, errors bigint NOT NULL, stalls bigint NOT NULL, over_reports bigint NOT NULL,
  timed bigint NOT NULL, slow bigint NOT NULL, first_output_ms bigint NOT NULL,
  PRIMARY KEY (provider_id, model, minute)
) WITH (fillfactor = 70);

-- Answers to the gateway's own prompts, compared with those of a route of the catalog.
CREATE TABLE provider_probes (
  id text COLLATE "C" PRIMARY KEY,
  admission_id text COLLATE "C" NOT NULL REFERENCES provider_admissions (id),
  prompt smallint NOT NULL,
  -- same, different, over_report, or failed where the provider did not answer.
  outcome text NOT NULL CHECK (outcome IN ('same', 'different', 'over_report', 'failed')),
  similarity_ppm integer NOT NULL,
  -- What the provider is paid for its answer: the transfer provider_probe with this id; none when it is zero.
  units bigint NOT NULL CHECK (units >= 0),
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX provider_probes_recent ON provider_probes (admission_id, at);

-- What is told of a provider in public: days that are over, each with requests of enough accounts.
CREATE TABLE provider_days (
  provider_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  -- Since 1970, UTC.
  day integer NOT NULL,
  requests bigint NOT NULL, failures bigint NOT NULL, timed bigint NOT NULL, first_output_ms bigint NOT NULL,
  PRIMARY KEY (provider_id, model, day)
);

-- One row for each admission and stretch of a usage log that had receipts of it.
CREATE TABLE provider_earnings (
  admission_id text COLLATE "C" NOT NULL REFERENCES provider_admissions (id),
  log smallint NOT NULL,
  from_position bigint NOT NULL,
  to_position bigint NOT NULL,
  receipts bigint NOT NULL CHECK (receipts > 0),
  charged_units bigint NOT NULL,
  -- What is due for them by the terms, in 1/1000000 units.
  due_micros numeric(38, 0) NOT NULL CHECK (due_micros >= 0),
  -- What was paid: the transfer provider_share, ref ID:LOG:to_position; none when it is zero.
  units bigint NOT NULL CHECK (units >= 0),
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (admission_id, log, to_position),
  CHECK (from_position < to_position)
);

-- Receipts before these places of the usage logs are counted for providers.
CREATE TABLE provider_cursors (
  log smallint PRIMARY KEY,
  position bigint NOT NULL,
  -- Registered providers are paid for the part of a charge that was paid in coin. Receipts before these places of the usage logs
  -- were paid for by their whole charge.
  whole_until bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO provider_cursors (log, position) SELECT log, 0 FROM generate_series(0, 64) AS log;
