-- A usage log for each shard, with the number of the shard, so that shards are booked side by side. What was booked before
-- stays in log 64, where it can be proved as before; nothing is appended to that one any more.

CREATE TABLE usage_log_heads (
  log smallint PRIMARY KEY CHECK (log BETWEEN 0 AND 64),
  size bigint NOT NULL,
  -- Hashes of the complete subtrees that the log is made of, largest first, 32 bytes each.
  peaks bytea NOT NULL
) WITH (fillfactor = 50);
INSERT INTO usage_log_heads (log, size, peaks) SELECT log, 0, '' FROM generate_series(0, 63) AS log;
INSERT INTO usage_log_heads (log, size, peaks) SELECT 64, size, peaks FROM usage_log_head;
-- A control of the version before, which would append to log 64, fails from here on and leaves its entries to this one.
DROP TABLE usage_log_head;
CREATE TRIGGER usage_log_heads_kept BEFORE DELETE OR TRUNCATE ON usage_log_heads
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER usage_log_heads_grow BEFORE UPDATE ON usage_log_heads
  FOR EACH ROW WHEN (OLD.log = 64 OR NEW.log <> OLD.log OR NEW.size < OLD.size) EXECUTE FUNCTION refuse_change();

ALTER TABLE usage_log_nodes ADD COLUMN log smallint NOT NULL DEFAULT 64;
ALTER TABLE usage_log_nodes ALTER COLUMN log DROP DEFAULT;
ALTER TABLE usage_log_nodes DROP CONSTRAINT usage_log_nodes_pkey;
ALTER TABLE usage_log_nodes ADD PRIMARY KEY (log, level, index);

-- Which log a receipt is in; its position is 0, 1, 2, ... within that log.
ALTER TABLE receipts ADD COLUMN log smallint NOT NULL DEFAULT 64;
ALTER TABLE receipts ALTER COLUMN log DROP DEFAULT;
ALTER TABLE receipts DROP CONSTRAINT receipts_position_key;
ALTER TABLE receipts ADD CONSTRAINT receipts_place_key UNIQUE (log, position);
DROP INDEX receipts_rated;
CREATE INDEX receipts_rated ON receipts (log, position) WHERE rate = 'batch' OR tier = 'private' OR size <> '';

-- What the shards charge goes to an account of each, which are revenue together with the one that fees and shares go by.
INSERT INTO ledger_accounts (id, kind, may_go_negative)
  SELECT 'revenue:' || lpad(shard::text, 2, '0'), 'system', true FROM generate_series(0, 63) AS shard;

-- Receipts before these places of the usage logs are counted for referrers; see referral_cursor in 0054.
CREATE TABLE referral_cursors (
  log smallint PRIMARY KEY,
  position bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO referral_cursors (log, position) SELECT log, 0 FROM generate_series(0, 63) AS log;
INSERT INTO referral_cursors (log, position) SELECT 64, position FROM referral_cursor;
DROP TABLE referral_cursor;

-- Receipts from these places on count, those of log N from from_positions[N + 1].
ALTER TABLE referrals ADD COLUMN from_positions bigint[];
UPDATE referrals SET from_positions = array_fill(0::bigint, ARRAY[64]) || from_position;
ALTER TABLE referrals ALTER COLUMN from_positions SET NOT NULL;
ALTER TABLE referrals ADD CHECK (cardinality(from_positions) = 65);
ALTER TABLE referrals DROP COLUMN from_position;

-- Each share is of one log. Its transfer has the ref ID:LOG:to_position, in log 64 ID:to_position.
ALTER TABLE referral_shares ADD COLUMN log smallint NOT NULL DEFAULT 64;
ALTER TABLE referral_shares ALTER COLUMN log DROP DEFAULT;
ALTER TABLE referral_shares DROP CONSTRAINT referral_shares_pkey;
ALTER TABLE referral_shares ADD PRIMARY KEY (referral_id, log, to_position);

-- Controls that book, by their last sign of life, and which shards each of them has. This only keeps them out of each
-- other's way: who books a shard locks the head of its log.
CREATE TABLE bookers (
  booker text COLLATE "C" PRIMARY KEY,
  seen_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE TABLE booked_shards (
  shard smallint PRIMARY KEY,
  -- Empty for nobody.
  booker text COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 50);
INSERT INTO booked_shards (shard) SELECT generate_series(0, 63);
