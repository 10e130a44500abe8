-- Receipts summed up by day of the hold, key and model, so that an account's usage is read without its receipts.
CREATE TABLE usage_days (
  account_id text COLLATE "C" NOT NULL,
  -- Days since 1970, UTC.
  day integer NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  units bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  PRIMARY KEY (account_id, day, key_id, model)
) WITH (fillfactor = 70);

INSERT INTO usage_days
  SELECT account_id, (held_at_ms / 86400000)::integer, key_id, model, count(*), sum(charge_units),
    sum(input_tokens + cached_input_tokens + cache_write_5m_tokens + cache_write_1h_tokens),
    sum(cached_input_tokens), sum(output_tokens)
  FROM receipts GROUP BY 1, 2, 3, 4;

-- Movements of money beside charges, for statements. Charges are found by their receipts and cost these indexes nothing.
CREATE INDEX transfers_other_debits ON transfers (debit, at) WHERE kind <> 'charge';
CREATE INDEX transfers_other_credits ON transfers (credit, at) WHERE kind <> 'charge';
