-- Sums of receipts by tag and by user, of an hour and of a day. Only so many values of an account have a row of their own in each
-- period; the others are added up under '', and once a period has that row no other value gets one. Receipts of the versions
-- before have no tags, so that the sums are complete from the first one on.
CREATE TABLE IF NOT EXISTS usage_tags (
  account_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('tag', 'user')),
  -- The length of the period, and its number since 1970, UTC.
  hours smallint NOT NULL CHECK (hours IN (1, 24)),
  period integer NOT NULL,
  -- As receipts have it: name=value of a tag, percent-encoded.
  value text COLLATE "C" NOT NULL,
  requests bigint NOT NULL, units bigint NOT NULL, input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
  PRIMARY KEY (account_id, kind, hours, period, value)
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS archived_usage_tags (
  month text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  hours smallint NOT NULL,
  period integer NOT NULL,
  value text COLLATE "C" NOT NULL,
  requests bigint NOT NULL, units bigint NOT NULL, input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
  PRIMARY KEY (month, account_id, kind, hours, period, value)
);

CREATE TABLE IF NOT EXISTS audited_usage_tags (
  account_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  hours smallint NOT NULL,
  period integer NOT NULL,
  value text COLLATE "C" NOT NULL,
  requests numeric NOT NULL, units numeric NOT NULL, input_tokens numeric NOT NULL,
  cached_input_tokens numeric NOT NULL, output_tokens numeric NOT NULL,
  PRIMARY KEY (account_id, kind, hours, period, value)
);
