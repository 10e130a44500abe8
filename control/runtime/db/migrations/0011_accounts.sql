CREATE TABLE accounts (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL DEFAULT '',
  created_at timestamptz NOT NULL DEFAULT now()
);

-- An absent cap is no cap. Amounts are units (1e-9 USD). The secret itself is stored nowhere.
CREATE TABLE api_keys (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  hash text NOT NULL UNIQUE,
  last4 text NOT NULL,
  name text NOT NULL DEFAULT '',
  paused boolean NOT NULL DEFAULT false,
  cap_hour_units bigint CHECK (cap_hour_units BETWEEN 0 AND 9007199254740991),
  cap_day_units bigint CHECK (cap_day_units BETWEEN 0 AND 9007199254740991),
  cap_month_units bigint CHECK (cap_month_units BETWEEN 0 AND 9007199254740991),
  budget_units bigint CHECK (budget_units BETWEEN 0 AND 9007199254740991),
  models text[] NOT NULL DEFAULT '{}',
  no_logs boolean NOT NULL DEFAULT false,
  private_tier boolean NOT NULL DEFAULT false,
  allow_retention boolean NOT NULL DEFAULT false,
  -- Zero leaves the gateway's own rate limit.
  requests_per_minute integer NOT NULL DEFAULT 0 CHECK (requests_per_minute >= 0),
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX api_keys_account ON api_keys (account_id, id);
