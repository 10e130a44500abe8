-- How far the last clean audit came, and the sums that it found behind that, so that the next one begins there. The note
-- names the digest of the sums and is signed where the logs are; see control/audit/auditMark.ts.
CREATE TABLE audit_mark (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  note text NOT NULL
);

-- By how much charges moved ledger accounts. `exchange` stands between coin and USD, as in the view postings.
CREATE TABLE audited_charges (
  account text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  amount numeric NOT NULL,
  PRIMARY KEY (account, currency)
);

CREATE TABLE audited_key_usage (
  key_id text COLLATE "C" NOT NULL,
  hour integer NOT NULL,
  units numeric NOT NULL,
  requests numeric NOT NULL,
  PRIMARY KEY (key_id, hour)
);

CREATE TABLE audited_usage_days (
  account_id text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  requests numeric NOT NULL, units numeric NOT NULL, input_tokens numeric NOT NULL,
  cached_input_tokens numeric NOT NULL, output_tokens numeric NOT NULL,
  PRIMARY KEY (account_id, day, key_id, model)
);

-- Coin charges that were counted for referrals.
CREATE TABLE audited_referrals (
  referral_id text COLLATE "C" PRIMARY KEY,
  units numeric NOT NULL
);
