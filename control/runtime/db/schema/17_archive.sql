-- What the book keeps of months of receipts that were put away, beside their leaves: sums, so that the audit finds them in
-- the tables that receipts are added up in, and the few receipts that other rows stand for.
CREATE TABLE archived_usage_days (
  month text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  requests bigint NOT NULL, units bigint NOT NULL, input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
  PRIMARY KEY (month, account_id, day, key_id, model)
);

CREATE TABLE archived_key_usage (
  month text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  hour integer NOT NULL,
  units bigint NOT NULL,
  requests bigint NOT NULL,
  PRIMARY KEY (month, key_id, hour)
);

-- Coin charges that counted for referrals.
CREATE TABLE archived_referrals (
  month text COLLATE "C" NOT NULL,
  referral_id text COLLATE "C" NOT NULL,
  units bigint NOT NULL,
  PRIMARY KEY (month, referral_id)
);

-- Of requests that were paid for by themselves, and of batch jobs.
CREATE TABLE archived_requests (
  request_id text COLLATE "C" PRIMARY KEY,
  status text NOT NULL,
  error_code text NOT NULL,
  charge_units bigint NOT NULL,
  voided boolean NOT NULL
);

-- What a month that was put away had burnt, by series.
CREATE TABLE archived_lock_uses (
  month text COLLATE "C" NOT NULL,
  lock_series text COLLATE "C" NOT NULL,
  units bigint NOT NULL,
  PRIMARY KEY (month, lock_series)
);

-- What was due for receipts of months that were put away.
CREATE TABLE archived_provider_receipts (
  month text COLLATE "C" NOT NULL,
  admission_id text COLLATE "C" NOT NULL,
  receipts bigint NOT NULL,
  charged_units bigint NOT NULL,
  due_micros numeric(38, 0) NOT NULL,
  PRIMARY KEY (month, admission_id)
);

-- What a month that was put away had of them: held from the first to the last moment, milliseconds since 1970.
CREATE TABLE archived_attestations (
  month text COLLATE "C" NOT NULL, attestation text COLLATE "C" NOT NULL, provider text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  sheet_version integer NOT NULL,
  receipts bigint NOT NULL, first_held_ms bigint NOT NULL, last_held_ms bigint NOT NULL,
  PRIMARY KEY (month, attestation, provider, model, sheet_version)
);

-- How such requests ended, wherever their receipts are.
CREATE VIEW ended_requests AS
  SELECT request_id, status, error_code, charge_units, voided FROM receipts
  UNION ALL SELECT request_id, status, error_code, charge_units, voided FROM archived_requests;
