-- Movements on the chain are listed for everybody, in the order in which they were recorded: each that is deep enough in the
-- chain has an id that sorts by that time. One that the chain takes back loses it, and gets another one with its next block.
CREATE FUNCTION new_flow_id(moment timestamptz) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT 'flow_' || substr(request_id_at(moment), 5) || upper(substr(replace(gen_random_uuid()::text, '-', ''), 1, 16))
$$;

CREATE FUNCTION name_flow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.flow_id := CASE WHEN NEW.state = 'mined' THEN new_flow_id(clock_timestamp()) END;
  RETURN NEW;
END
$$;

-- The chain that the book is bound to. One row, written when payments are switched on for the first time.
CREATE TABLE chain_identity (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  chain_id bigint NOT NULL,
  -- Of block 0: a chain that was started anew has the same id and none of the money.
  genesis_hash text NOT NULL,
  treasury text NOT NULL CHECK (treasury ~ '^0x[0-9a-f]{40}$'),
  -- Key of the MACs that bind quotes to requests; all proxies are told.
  quote_secret bytea NOT NULL,
  -- Transfers up to this block have been read; those of the treasury's own transactions are known without reading.
  scanned_block bigint NOT NULL,
  -- The newest block when transfers were read last, which confirmations are counted from; null before that.
  head_block bigint
);

-- Tokens of the treasury when its transfers began to be watched, in atomic units.
CREATE TABLE chain_openings (
  token text PRIMARY KEY CHECK (token ~ '^0x[0-9a-f]{40}$'),
  block_number bigint NOT NULL,
  amount numeric(78, 0) NOT NULL CHECK (amount >= 0),
  -- How a token is shown; null until control has asked its contract.
  symbol text,
  decimals smallint
);

-- Who sends transactions. Nonces are given out under this row's lock together with the signed transaction that uses
-- them, so that there is never a gap that nobody can fill.
CREATE TABLE chain_senders (
  address text PRIMARY KEY CHECK (address ~ '^0x[0-9a-f]{40}$'),
  next_nonce bigint NOT NULL
);

-- Every transaction that moves money. Rows follow the chain: pending until it is in a block, pending again when that
-- block is taken back, and final when it can not be.
CREATE TABLE chain_transactions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- What the transaction does, and for which row there; done once.
  purpose text NOT NULL CHECK (purpose IN
    ('payment', 'deposit', 'refund', 'withdrawal', 'settlement', 'reward', 'reward_root', 'vault', 'vault_vest', 'lock_mint')),
  ref text COLLATE "C" NOT NULL,
  -- Absent for a transaction that the payer sent itself.
  sender text REFERENCES chain_senders (address),
  nonce bigint,
  target text,
  data bytea,
  gas bigint,
  -- The transfer that it has to make.
  token text,
  transfer_from text,
  transfer_to text,
  amount numeric(78, 0) CHECK (amount > 0),
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'mined', 'reverted', 'displaced', 'stuck')),
  -- Deep enough that no reorganisation is expected to take it back.
  final boolean NOT NULL DEFAULT false,
  hash text,
  block_number bigint,
  block_hash text,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Sorts by the time of a mined one; null for the others.
  flow_id text COLLATE "C",
  -- No block before this one has the transaction.
  since_block bigint NOT NULL DEFAULT 0 CHECK (since_block >= 0),
  UNIQUE (purpose, ref),
  UNIQUE (sender, nonce),
  CHECK ((sender IS NULL) = (nonce IS NULL)),
  CHECK ((state IN ('mined', 'reverted')) = (block_number IS NOT NULL AND block_hash IS NOT NULL AND hash IS NOT NULL)),
  -- A settlement, a root, vesting and a mint move none of the treasury's tokens.
  CONSTRAINT chain_transactions_transfer_check CHECK (num_nonnulls(token, transfer_from, transfer_to, amount) =
    CASE WHEN purpose IN ('settlement', 'reward_root', 'vault_vest', 'lock_mint') THEN 0 ELSE 4 END)
);
CREATE INDEX chain_transactions_open ON chain_transactions (id) WHERE state = 'pending' OR NOT final;
CREATE TRIGGER chain_transactions_flow BEFORE UPDATE OF state ON chain_transactions
  FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION name_flow();
-- A page reads its own rows alone, also of one kind.
CREATE UNIQUE INDEX chain_transactions_flows ON chain_transactions (flow_id) WHERE flow_id IS NOT NULL;
CREATE INDEX chain_transactions_flow_kinds ON chain_transactions (purpose, flow_id) WHERE flow_id IS NOT NULL;
-- The transactions of a batch are found by its number.
CREATE INDEX chain_transactions_settlements ON chain_transactions ((split_part(ref, '#', 1)))
  WHERE purpose = 'settlement';
CREATE INDEX chain_transactions_payouts ON chain_transactions (purpose, (split_part(ref, '#', 1)))
  WHERE purpose IN ('reward', 'reward_root', 'vault', 'vault_vest');
-- What the treasury's transactions moved since a block.
CREATE INDEX chain_transactions_mined ON chain_transactions (block_number) WHERE state = 'mined';
CREATE INDEX chain_transactions_lock_mints ON chain_transactions ((split_part(ref, '#', 1))) WHERE purpose = 'lock_mint';
CREATE INDEX chain_transactions_stuck ON chain_transactions (sender) WHERE state = 'stuck';
CREATE INDEX chain_transactions_hash ON chain_transactions (hash) WHERE hash IS NOT NULL;

-- The signed forms of a transaction: the first, and those that replaced it with a higher fee. Any of them may be mined.
CREATE TABLE chain_attempts (
  hash text NOT NULL,
  transaction_id bigint NOT NULL REFERENCES chain_transactions (id),
  -- Absent when the payer sent it and only named its hash.
  raw bytea,
  max_fee numeric(39, 0) NOT NULL,
  priority_fee numeric(39, 0) NOT NULL,
  signed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (hash, transaction_id)
);
CREATE INDEX chain_attempts_transaction ON chain_attempts (transaction_id);

-- Transfers of the treasury's tokens that none of its own transactions made.
CREATE TABLE chain_transfers (
  hash text NOT NULL,
  log_index integer NOT NULL,
  block_number bigint NOT NULL,
  token text NOT NULL, transfer_from text NOT NULL, transfer_to text NOT NULL,
  amount numeric(78, 0) NOT NULL,
  -- What it was counted as: a deposit of an account, or nothing that the gateway knows.
  purpose text NOT NULL CHECK (purpose IN ('deposit', 'other')),
  ref text COLLATE "C" NOT NULL,
  flow_id text COLLATE "C" DEFAULT new_flow_id(clock_timestamp()) NOT NULL,
  -- Transfers that are equal in everything cannot be told apart, also because a log may get another index in another block: they
  -- are counted. `place` is the number of this one among the equal ones of its transaction, `equals` is how many those are.
  place integer NOT NULL,
  equals integer NOT NULL,
  PRIMARY KEY (hash, token, transfer_from, transfer_to, amount, place),
  -- A reorganisation takes transfers back, or moves them to another block. What a transfer was counted as stays as it is; its
  -- block and how many equal ones its transaction makes follow the chain, and `equals` is 0 while the chain has none of them.
  CHECK (place >= 1),
  CHECK (equals >= 0)
);
CREATE UNIQUE INDEX chain_transfers_flows ON chain_transfers (flow_id);
CREATE INDEX chain_transfers_flow_kinds ON chain_transfers (purpose, flow_id);
CREATE TRIGGER chain_transfers_append_only
  BEFORE UPDATE OF hash, log_index, token, transfer_from, transfer_to, amount, purpose, ref, place, flow_id OR DELETE OR TRUNCATE
  ON chain_transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE INDEX chain_transfers_others ON chain_transfers (block_number) WHERE purpose = 'other';

-- What the transfers of a transaction of each kind come to that no transaction of the book has claimed.
CREATE VIEW chain_transfers_unclaimed AS
SELECT c.hash, c.token, c.transfer_from, c.transfer_to, c.amount, c.block_number, c.deposits, c.equals - c.claims AS transfers
FROM (
  SELECT t.hash, t.token, t.transfer_from, t.transfer_to, t.amount, max(t.block_number) AS block_number, max(t.equals) AS equals,
    count(*) FILTER (WHERE t.purpose = 'deposit') AS deposits,
    (SELECT count(*) FROM chain_transactions o WHERE o.state = 'mined' AND o.hash = t.hash AND o.token = t.token
       AND o.transfer_from = t.transfer_from AND o.transfer_to = t.transfer_to AND o.amount = t.amount) AS claims
  FROM chain_transfers t GROUP BY t.hash, t.token, t.transfer_from, t.transfer_to, t.amount
) c WHERE c.equals > c.claims;
