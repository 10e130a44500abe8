-- One row for every request that took a hold, written when it ended.
CREATE TABLE receipts (
  request_id text COLLATE "C" PRIMARY KEY,
  -- Place in the usage log: 0, 1, 2, ... in the order of commit.
  position bigint NOT NULL UNIQUE,
  account_id text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text NOT NULL,
  endpoint text NOT NULL,
  provider text NOT NULL,
  sheet_version integer NOT NULL,
  status text NOT NULL CHECK (status IN ('ok', 'partial', 'failed', 'cut', 'orphaned')),
  error_code text NOT NULL,
  streamed boolean NOT NULL,
  hold_units bigint NOT NULL,
  charge_units bigint NOT NULL,
  -- A voided request freed its hold and was charged nothing.
  voided boolean NOT NULL,
  -- Where the charge was taken from: grantId=units,...,coin=units.
  split text NOT NULL,
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  cache_write_5m_tokens bigint NOT NULL,
  cache_write_1h_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  -- Of what is not priced by the token, and how that is called: 2 image, 1200 character.
  quantity bigint NOT NULL,
  unit text NOT NULL,
  usage_source text NOT NULL CHECK (usage_source IN ('none', 'reported', 'estimated')),
  clamped boolean NOT NULL,
  held_at_ms bigint NOT NULL,
  started_at_ms bigint NOT NULL,
  first_byte_ms integer NOT NULL,
  duration_ms integer NOT NULL,
  -- RFC 6962 leaf hash of the receipt's text in the usage log.
  leaf_hash bytea NOT NULL,
  booked_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT charge_within_hold CHECK (charge_units BETWEEN 0 AND hold_units),
  CONSTRAINT voided_costs_nothing CHECK (NOT voided OR charge_units = 0)
);
-- Newest first for one key; an account's list merges its keys (see key_usage).
CREATE INDEX receipts_key ON receipts (key_id, request_id);
CREATE TRIGGER receipts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON receipts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Charges by key and hour of the hold; a lost admission state takes its spending windows from here.
CREATE TABLE key_usage (
  key_id text COLLATE "C" NOT NULL,
  -- Hours since 1970, UTC.
  hour integer NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  shard smallint NOT NULL,
  units bigint NOT NULL,
  requests bigint NOT NULL,
  PRIMARY KEY (key_id, hour)
) WITH (fillfactor = 70);
CREATE INDEX key_usage_shard ON key_usage (shard, key_id);
CREATE INDEX key_usage_account ON key_usage (account_id, key_id);

-- Last stream entry booked, by shard: a stream whose last id is behind this one has lost entries.
CREATE TABLE stream_positions (
  shard smallint PRIMARY KEY,
  last_ms bigint NOT NULL,
  last_seq bigint NOT NULL,
  -- When the shard's admission state was last loaded from the book, on Redis's clock: an older entry that is booked
  -- only now is not in what was loaded.
  loaded_ms bigint NOT NULL DEFAULT 0
);

-- Entries that could not be read or booked; the audit reports them, an operator resolves them.
CREATE TABLE settlement_rejects (
  shard smallint NOT NULL,
  entry_id text NOT NULL,
  reason text NOT NULL,
  settlement bytea,
  -- The other fields of the entry as JSON text.
  fields text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (shard, entry_id)
);
