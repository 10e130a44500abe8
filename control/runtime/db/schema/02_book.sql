-- The book: double entry, append only. Identifiers are compared byte by byte (collation "C"): they are ASCII and sort by time.
-- Coin is kept in coin: integers of 1e-9 coin (nanos). Everything else is in units of 1e-9 USD. Both are below 2^53.

-- Balances follow the transfers inside the database, so that no code path can post without moving them. A posting finds each
-- account once: it locks the rows in the order of their ids and updates them by their places, which do not change while they
-- are locked.
CREATE FUNCTION move_balances() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  touched text[];
  moved_units bigint[];
  moved_nanos bigint[];
  places tid[];
  moved integer;
BEGIN
  SELECT array_agg(id ORDER BY id), array_agg(units ORDER BY id), array_agg(nanos ORDER BY id)
    INTO touched, moved_units, moved_nanos
    FROM (
      SELECT side.id, sum(side.units)::bigint AS units, sum(side.nanos)::bigint AS nanos
        FROM (
          SELECT debit AS id, -units AS units, -coalesce(coin_nanos, units) AS nanos FROM new_transfers
          UNION ALL
          SELECT credit, units, coalesce(coin_nanos, units) FROM new_transfers
        ) AS side
        GROUP BY side.id
    ) AS sums;
  -- Always locked in the same order: two postings never wait for each other in a circle.
  SELECT array_agg(place) INTO places
    FROM (SELECT ctid AS place FROM ledger_accounts WHERE id = ANY (touched) ORDER BY id FOR NO KEY UPDATE) AS locked;
  IF cardinality(places) IS DISTINCT FROM cardinality(touched) THEN
    RAISE EXCEPTION 'a transfer names an account that is not in ledger_accounts'
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  UPDATE ledger_accounts AS a SET balance = a.balance + CASE a.currency WHEN 'coin' THEN d.nanos ELSE d.units END
    FROM unnest(touched, places, moved_units, moved_nanos) AS d (id, place, units, nanos)
    WHERE a.ctid = d.place AND a.id = d.id;
  GET DIAGNOSTICS moved = ROW_COUNT;
  IF moved <> cardinality(touched) THEN
    RAISE EXCEPTION 'a transfer moved % of % balances', moved, cardinality(touched);
  END IF;
  RETURN NULL;
END
$$;

-- The identity of an account is settled when it is opened, and its balance only follows the transfers.
CREATE FUNCTION guard_ledger_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.balance <> 0 THEN
      RAISE EXCEPTION 'a ledger account opens with a balance of zero' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  ELSIF pg_trigger_depth() < 2 THEN
    RAISE EXCEPTION 'balances move by transfers alone' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION refuse_lost_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM log_head_tiles WHERE tile = OLD.position / 256) THEN
    RAISE EXCEPTION 'the hash of head % is kept nowhere else', OLD.position;
  END IF;
  RETURN OLD;
END
$$;

CREATE FUNCTION refuse_last_checkpoint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM checkpoints WHERE size > OLD.size) THEN
    RAISE EXCEPTION 'the last checkpoint is kept';
  END IF;
  RETURN OLD;
END
$$;

-- Receipts lie in partitions by month, so that indexes stay small and old months can be put away. Request ids sort by time,
-- so a month is a range of ids, in which each partition finds duplicates by itself.

-- What the ids of requests that arrive at a moment begin with.
CREATE FUNCTION request_id_at(moment timestamptz) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  ms bigint := (extract(epoch FROM moment) * 1000)::bigint;
  digits text := '';
BEGIN
  FOR place IN 1..10 LOOP
    digits := substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (ms % 32)::integer + 1, 1) || digits;
    ms := ms / 32;
  END LOOP;
  RETURN 'req_' || digits;
END
$$;

-- Makes the partition of the month that a moment is in. False where the month has one, or was put away.
CREATE FUNCTION add_receipt_month(moment timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  first timestamp := date_trunc('month', moment AT TIME ZONE 'UTC');
  least text := request_id_at(first AT TIME ZONE 'UTC');
  beyond text := request_id_at((first + interval '1 month') AT TIME ZONE 'UTC');
  name text := 'receipts_' || to_char(first, 'YYYY_MM');
BEGIN
  -- The number is one of those in locks.ts.
  PERFORM pg_advisory_xact_lock(7204004);
  IF EXISTS (SELECT FROM receipt_months WHERE from_id < beyond AND until_id > least) OR
    EXISTS (SELECT FROM receipt_archives WHERE from_id < beyond AND until_id > least) THEN
    RETURN false;
  END IF;
  -- Made by itself and attached, which keeps nobody from reading or booking.
  EXECUTE format('CREATE TABLE %I (LIKE receipts INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
  EXECUTE format('CREATE UNIQUE INDEX %I ON %I (log, position)', name || '_place_key', name);
  EXECUTE format('CREATE TRIGGER receipts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %I
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', name);
  EXECUTE format('ALTER TABLE receipts ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, least, beyond);
  INSERT INTO receipt_months (month, partition, from_id, until_id)
    VALUES (to_char(first, 'YYYY-MM'), name, least, beyond);
  RETURN true;
END
$$;

CREATE FUNCTION name_checkpoint_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Nothing is before the first one there ever was.
  NEW.size_before := coalesce((SELECT max(size) FROM checkpoints WHERE size < NEW.size), 0);
  RETURN NEW;
END
$$;

CREATE FUNCTION note_forgotten_checkpoint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO checkpoints_forgotten (size) VALUES (OLD.size)
    ON CONFLICT (one) DO UPDATE SET size = greatest(checkpoints_forgotten.size, excluded.size);
  RETURN NULL;
END
$$;

CREATE TABLE ledger_accounts (
  id text COLLATE "C" PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('coin', 'grant', 'payer_credit', 'lock', 'system')),
  -- The customer account that a coin or grant account belongs to.
  owner text COLLATE "C",
  balance bigint NOT NULL DEFAULT 0,
  may_go_negative boolean NOT NULL DEFAULT false,
  -- What the balance of an account counts: nanos of coin, or units of USD. What strangers pay for single requests is USD from
  -- the moment it is credited, whatever they pay it with.
  currency text NOT NULL DEFAULT 'usd' CHECK (currency IN ('usd', 'coin')),
  CONSTRAINT balance_not_negative CHECK (may_go_negative OR balance >= 0),
  -- What a customer owns has to be exact in JavaScript and Lua; sums over all customers are only ever added up in SQL.
  CONSTRAINT balance_exact CHECK (kind = 'system' OR balance BETWEEN -9007199254740991 AND 9007199254740991),
  CONSTRAINT customers_have_coin
    CHECK (kind <> 'coin' OR currency = CASE WHEN owner LIKE 'payer\_%' THEN 'usd' ELSE 'coin' END)
) WITH (fillfactor = 50);
-- escrow_coin has the coin of links and of withdrawals that are not sent, escrow_locks that of open bids. A shard charges to an
-- account of revenue of its own; charges that nobody paid (free credits, what the house bears) are apart, as no share in coin is
-- taken of them. Shares of holders and of the vault that are set aside and not sent or credited are in `rewards` and `vault`.
INSERT INTO ledger_accounts (id, kind, currency, may_go_negative)
  SELECT id, 'system', 'usd', id <> 'escrow' FROM unnest('{revenue,payments_in,house,provider_cost,escrow}'::text[]) AS id
  UNION ALL SELECT name || lpad(shard::text, 2, '0'), 'system', 'usd', true
    FROM unnest('{revenue:,revenue_unpaid:}'::text[]) AS name, generate_series(0, 63) AS shard
  UNION ALL SELECT id, 'system', 'coin', false FROM unnest('{escrow_coin,escrow_locks,rewards,vault}'::text[]) AS id;
CREATE INDEX ledger_accounts_owner ON ledger_accounts (owner) WHERE owner IS NOT NULL;
CREATE TRIGGER ledger_accounts_opened BEFORE INSERT ON ledger_accounts
  FOR EACH ROW EXECUTE FUNCTION guard_ledger_account();
CREATE TRIGGER ledger_accounts_moved BEFORE UPDATE ON ledger_accounts
  FOR EACH STATEMENT EXECUTE FUNCTION guard_ledger_account();
CREATE TRIGGER ledger_accounts_kept BEFORE DELETE OR TRUNCATE ON ledger_accounts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- One row is one debit and one credit of the same amount, so that no posting can be out of balance.
CREATE TABLE transfers (
  id bigint GENERATED ALWAYS AS IDENTITY,
  ref text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, debit text COLLATE "C" NOT NULL,
  credit text COLLATE "C" NOT NULL,
  units bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  -- By how much a transfer changes accounts of coin; null is as many nanos as units. What coin was worth rounds down, so it
  -- may be no unit.
  coin_nanos bigint CHECK (coin_nanos >= 0),
  CHECK (debit <> credit),
  -- The same business event booked twice is refused here. `ref` leads, because it sorts by time for most kinds.
  PRIMARY KEY (ref, kind, debit, credit),
  CONSTRAINT transfers_units_check CHECK (units > 0 OR (units = 0 AND coin_nanos > 0))
);
CREATE TRIGGER transfers_move_balances AFTER INSERT ON transfers
  REFERENCING NEW TABLE AS new_transfers FOR EACH STATEMENT EXECUTE FUNCTION move_balances();
-- Movements of money beside charges, for statements. Charges are found by their receipts and cost these indexes nothing.
CREATE INDEX transfers_other_debits ON transfers (debit, at) WHERE kind <> 'charge';
CREATE INDEX transfers_other_credits ON transfers (credit, at) WHERE kind <> 'charge';
-- What was booked since a moment. Transfers lie in the order in which they were booked, so this index stays tiny.
CREATE INDEX transfers_at ON transfers USING brin (at);

-- Free credits, each with its own ledger account `grant:ID`, its source and its end.
CREATE TABLE grants (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  source text NOT NULL,
  units bigint NOT NULL CHECK (units > 0),
  expires_at_ms bigint NOT NULL,
  -- Names the business event, so that it grants once to an account.
  ref text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (account_id, ref)
);

-- How many book events of an account went to the admission state.
CREATE TABLE admission_accounts (
  account_id text COLLATE "C" PRIMARY KEY,
  shard smallint NOT NULL,
  seq bigint NOT NULL
);
CREATE INDEX admission_accounts_shard ON admission_accounts (shard, account_id);

-- Outbox: written with the postings, applied to Redis in the order of seq, then deleted.
CREATE TABLE admission_events (
  account_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  coin_delta bigint NOT NULL DEFAULT 0,
  grant_id text COLLATE "C",
  grant_expires_at_ms bigint,
  grant_units bigint,
  -- The debit that an event of the outbox ends: what Redis has taken for it is not taken again.
  debit_id text COLLATE "C",
  PRIMARY KEY (account_id, seq)
);
CREATE INDEX admission_events_debit ON admission_events (debit_id) WHERE debit_id IS NOT NULL;

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

-- Roots of the complete subtrees of 16, 256, 4,096, 65,536, 1,048,576 and 16,777,216 leaves: a proof reads up to 16 nodes of a
-- height. A book that was begun by a version before has none of 16 in its first stretch; older proofs read the leaves.
CREATE TABLE usage_log_nodes (
  level smallint NOT NULL,
  index bigint NOT NULL,
  hash bytea NOT NULL,
  log smallint NOT NULL,
  PRIMARY KEY (log, level, index),
  CONSTRAINT usage_log_nodes_level_check CHECK (level IN (4, 8, 12, 16, 20, 24))
);

-- Shards whose admission state is known to differ from the book and has to be loaded again.
CREATE TABLE admission_dirty (
  shard smallint PRIMARY KEY,
  reason text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);

-- Grants that admission may still list; the sweep takes a grant out when nothing of it is left.
CREATE TABLE open_grants (
  grant_id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  expires_at_ms bigint NOT NULL
);

CREATE TABLE accounts (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL DEFAULT '',
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Receipts summed up by day of the hold, key and model, so that an account's usage is read without its receipts.
CREATE TABLE usage_days (
  account_id text COLLATE "C" NOT NULL,
  -- Days since 1970, UTC.
  day integer NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  requests bigint NOT NULL, units bigint NOT NULL, input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
  PRIMARY KEY (account_id, day, key_id, model)
) WITH (fillfactor = 70);

-- How far the endings that proxy processes deliver are booked. The endings of one process and shard are numbered from 1.
CREATE TABLE owner_positions (
  owner text COLLATE "C" NOT NULL,
  shard smallint NOT NULL,
  -- All up to this number are booked, or kept as rejects.
  seq bigint NOT NULL,
  -- Those booked behind a gap: first and last number in turn, ascending.
  ahead bigint[] NOT NULL DEFAULT '{}',
  booked_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (owner, shard)
) WITH (fillfactor = 50);

-- Proxy processes, which have leases perhaps, by their last call.
CREATE TABLE proxy_owners (
  owner text COLLATE "C" PRIMARY KEY,
  seen_at timestamptz NOT NULL DEFAULT now(),
  -- How many endings the process will have had at least: those that it has numbered, and its requests that are open on
  -- leases. It says so with every pulse.
  begun bigint NOT NULL DEFAULT 0,
  -- When everything of its journal was booked after its end; it has ended all of its requests then.
  replayed_at timestamptz
) WITH (fillfactor = 50);

-- A usage log for each shard, with the number of the shard, so that shards are booked side by side. What was booked before
-- stays in log 64, where it can be proved as before; nothing is appended to that one any more.
CREATE TABLE usage_log_heads (
  log smallint PRIMARY KEY CHECK (log BETWEEN 0 AND 65),
  size bigint NOT NULL,
  -- Hashes of the complete subtrees that the log is made of, largest first, 32 bytes each.
  peaks bytea NOT NULL
) WITH (fillfactor = 50);
INSERT INTO usage_log_heads (log, size, peaks) SELECT log, 0, '' FROM generate_series(0, 65) AS log;
CREATE TRIGGER usage_log_heads_kept BEFORE DELETE OR TRUNCATE ON usage_log_heads
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER usage_log_heads_grow BEFORE UPDATE ON usage_log_heads
  FOR EACH ROW WHEN (OLD.log = 64 OR NEW.log <> OLD.log OR NEW.size < OLD.size) EXECUTE FUNCTION refuse_change();

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

-- Log 65 is the log of heads: an RFC 6962 tree whose entries say which size and root each usage log had. A checkpoint signs its
-- size and root, and with them every head in it.
CREATE TABLE log_heads (
  -- Place in the log of heads.
  position bigint PRIMARY KEY,
  log smallint NOT NULL CHECK (log BETWEEN 0 AND 64),
  size bigint NOT NULL CHECK (size > 0),
  root bytea NOT NULL,
  UNIQUE (log, size)
);
CREATE TRIGGER log_heads_append_only BEFORE UPDATE OR TRUNCATE ON log_heads
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER log_heads_kept BEFORE DELETE ON log_heads FOR EACH ROW EXECUTE FUNCTION refuse_lost_head();

CREATE TABLE checkpoints (
  -- Of the log of heads.
  size bigint PRIMARY KEY CHECK (size > 0),
  -- The signed note as it is handed out, and the verifier key that it is checked with.
  note text NOT NULL,
  key text NOT NULL,
  signed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Each checkpoint names the one before it, and the greatest size that was forgotten is noted, so that none is missing unseen.
  -- Checkpoints of before have no such name.
  size_before bigint
);
CREATE TRIGGER checkpoints_append_only BEFORE UPDATE OR TRUNCATE ON checkpoints
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoints_kept BEFORE DELETE ON checkpoints FOR EACH ROW EXECUTE FUNCTION refuse_last_checkpoint();
CREATE TRIGGER checkpoints_in_order BEFORE INSERT ON checkpoints FOR EACH ROW EXECUTE FUNCTION name_checkpoint_before();
CREATE TRIGGER checkpoints_forgotten AFTER DELETE ON checkpoints FOR EACH ROW EXECUTE FUNCTION note_forgotten_checkpoint();

-- What witnesses have added to checkpoints: that they have seen them, and that each contains those before. Of each witness
-- the latest statement on a checkpoint.
CREATE TABLE cosignatures (
  -- Of the checkpoint.
  size bigint NOT NULL REFERENCES checkpoints (size),
  -- Verifier key of the witness.
  witness text COLLATE "C" NOT NULL,
  -- When the witness says that it did, in seconds since 1970.
  at_seconds bigint NOT NULL,
  -- The line of the signature, with its end.
  line text NOT NULL,
  PRIMARY KEY (size, witness)
);

-- Old entries of the log of heads go; the hashes of those stay, by which everything in it is proved.
CREATE TABLE log_head_tiles (
  -- Its leaves are those at the positions from tile * 256 on.
  tile bigint PRIMARY KEY,
  leaves bytea NOT NULL CHECK (length(leaves) = 256 * 32)
);

-- Months that have a partition: which ids it has, from the first up to but without the last.
CREATE TABLE receipt_months (
  month text COLLATE "C" PRIMARY KEY,
  partition text NOT NULL,
  from_id text COLLATE "C" NOT NULL,
  until_id text COLLATE "C" NOT NULL UNIQUE
);

-- Months that were put away, and the file in which each of them is.
CREATE TABLE receipt_archives (
  month text COLLATE "C" PRIMARY KEY,
  from_id text COLLATE "C" NOT NULL,
  until_id text COLLATE "C" NOT NULL UNIQUE,
  file text NOT NULL,
  sha256 text NOT NULL,
  receipts bigint NOT NULL,
  charge_units bigint NOT NULL,
  archived_at timestamptz NOT NULL DEFAULT now()
);

-- One row for every request that took a hold, written when it ended.
CREATE TABLE receipts (
  request_id text COLLATE "C" PRIMARY KEY,
  -- Place in its usage log: 0, 1, 2, ... in the order of commit.
  position bigint NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text NOT NULL, endpoint text NOT NULL, provider text NOT NULL,
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
  input_tokens bigint NOT NULL, cached_input_tokens bigint NOT NULL, cache_write_5m_tokens bigint NOT NULL,
  cache_write_1h_tokens bigint NOT NULL, output_tokens bigint NOT NULL, reasoning_tokens bigint NOT NULL,
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
  -- Which rates a request was charged by. Empty where that was never written down: in receipts from before, and of holds that
  -- nobody was there to end.
  rate text NOT NULL DEFAULT '' CHECK (rate IN ('', 'standard', 'batch')),
  tier text NOT NULL DEFAULT '' CHECK (tier IN ('', 'standard', 'private')),
  -- The size of images whose price goes by it, WxH. Empty for all else, and in receipts from before.
  size text NOT NULL DEFAULT '',
  log smallint NOT NULL,
  -- The layout of the text that the usage log has of a receipt; see control/book/receipt.
  leaf_layout smallint NOT NULL DEFAULT 1 CHECK (leaf_layout IN (1, 2, 3)),
  -- Tokens of compute locks that requests have burnt: the series ('' for none), units at the locked price, and micro-tokens.
  -- charge_units does not have them. The layout of leaves that has them is the third.
  lock_series text COLLATE "C" NOT NULL DEFAULT '',
  lock_units bigint NOT NULL DEFAULT 0,
  lock_micros bigint NOT NULL DEFAULT 0,
  -- The report that a request of the private tier was served by; '' for all else, and in receipts from before.
  attestation text COLLATE "C" NOT NULL DEFAULT '',
  CONSTRAINT charge_within_hold CHECK (charge_units BETWEEN 0 AND hold_units),
  CONSTRAINT voided_costs_nothing CHECK (NOT voided OR charge_units = 0)
) PARTITION BY RANGE (request_id);
-- Newest first for one key; an account's list merges its keys (see key_usage).
CREATE INDEX receipts_key ON receipts (key_id, request_id);
-- For the audit, which compares special rates with the price sheets.
CREATE INDEX receipts_rated ON receipts (log, position) WHERE rate = 'batch' OR tier = 'private' OR size <> '';
CREATE INDEX receipts_burnt ON receipts (request_id) WHERE lock_units > 0;
-- Receipts of registered providers alone, so that these indexes cost others nothing.
CREATE INDEX receipts_registered ON receipts (log, position) WHERE provider LIKE 'prov\_%';
CREATE INDEX receipts_registered_ids ON receipts (provider, request_id) WHERE provider LIKE 'prov\_%';
CREATE TRIGGER receipts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON receipts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- All ids before this month have the first partition, what sorts behind all ids of requests has receipts_rest, and no month.
CREATE TABLE receipts_first (LIKE receipts INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
CREATE TABLE receipts_rest (LIKE receipts INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
ALTER TABLE receipts_first ADD CONSTRAINT receipts_first_pkey PRIMARY KEY (request_id),
  ADD CONSTRAINT receipts_first_place_key UNIQUE (log, position);
CREATE UNIQUE INDEX receipts_rest_place_key ON receipts_rest (log, position);
CREATE INDEX receipts_first_key ON receipts_first (key_id, request_id);
CREATE INDEX receipts_first_rated ON receipts_first (log, position) WHERE rate = 'batch' OR tier = 'private' OR size <> '';
CREATE TRIGGER receipts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON receipts_first
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER receipts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON receipts_rest
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE receipts ATTACH PARTITION receipts_rest FOR VALUES FROM ('req_8') TO (MAXVALUE);
DO $$
DECLARE
  this_month timestamp := date_trunc('month', now() AT TIME ZONE 'UTC');
  early text := request_id_at(this_month AT TIME ZONE 'UTC');
BEGIN
  INSERT INTO receipt_months (month, partition, from_id, until_id)
    VALUES (to_char(this_month - interval '1 day', 'YYYY-MM'), 'receipts_first', '', early);
  EXECUTE format('ALTER TABLE receipts ATTACH PARTITION receipts_first FOR VALUES FROM (MINVALUE) TO (%L)', early);
  PERFORM add_receipt_month((this_month + make_interval(months => ahead)) AT TIME ZONE 'UTC') FROM generate_series(0, 2) AS ahead;
END
$$;

-- What the usage logs need of receipts that were put away: their leaf hashes, one after the other, at most those of one tile
-- of 256 in a row. The first of them is at `position`.
CREATE TABLE archived_leaves (
  month text COLLATE "C" NOT NULL,
  log smallint NOT NULL,
  position bigint NOT NULL,
  hashes bytea NOT NULL,
  PRIMARY KEY (log, position)
);

-- Public statistics: receipts summed up by day of the hold and model. What is in public_statistics may be read by everybody;
-- each time something was added to a row, at least statsAccountsMin accounts were behind what was added. Everything else
-- waits in waiting_statistics until so many are; see control/book/statistics.
CREATE TABLE public_statistics (
  -- Days since 1970, UTC; -1 for what was used on days that are not told.
  day integer NOT NULL,
  -- Empty for models that are not told apart.
  model text COLLATE "C" NOT NULL,
  requests bigint NOT NULL, ok bigint NOT NULL, ended_by_client bigint NOT NULL, failed bigint NOT NULL,
  units bigint NOT NULL, input_tokens bigint NOT NULL, cached_input_tokens bigint NOT NULL,
  cache_write_5m_tokens bigint NOT NULL, cache_write_1h_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
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

-- For the audit of the private tier: each receipt of it names the report of the provider that served it.

-- Receipts before these places of the usage logs may name none, because they may be older than reports are.
CREATE TABLE unattested_receipts (
  log smallint PRIMARY KEY,
  until_position bigint NOT NULL
);
INSERT INTO unattested_receipts (log, until_position) SELECT log, 0 FROM generate_series(0, 65) AS log;

-- Since when charges are booked in this way, which is what the audit compares.
CREATE TABLE paid_revenue (
  since timestamptz NOT NULL
);
INSERT INTO paid_revenue (since) VALUES (clock_timestamp());

CREATE TABLE checkpoints_forgotten (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- Of the log of heads; all checkpoints up to this one are gone.
  size bigint NOT NULL
);

CREATE VIEW postings AS
  SELECT t.id AS transfer_id, t.ref, t.kind, side.account, side.currency, side.amount, t.at
  FROM transfers t
  LEFT JOIN ledger_accounts d ON d.id = t.debit
  LEFT JOIN ledger_accounts c ON c.id = t.credit
  CROSS JOIN LATERAL (
    SELECT coalesce(d.currency, 'usd') AS debited, coalesce(c.currency, 'usd') AS credited,
      coalesce(t.coin_nanos, t.units) AS nanos
  ) AS both_sides
  CROSS JOIN LATERAL (
    SELECT t.debit AS account, debited AS currency, CASE debited WHEN 'coin' THEN -nanos ELSE -t.units END AS amount
    UNION ALL
    SELECT t.credit, credited, CASE credited WHEN 'coin' THEN nanos ELSE t.units END
    UNION ALL
    SELECT 'exchange', 'coin', CASE debited WHEN 'coin' THEN nanos ELSE -nanos END WHERE debited <> credited
    UNION ALL
    SELECT 'exchange', 'usd', CASE debited WHEN 'usd' THEN t.units ELSE -t.units END WHERE debited <> credited
  ) AS side;
