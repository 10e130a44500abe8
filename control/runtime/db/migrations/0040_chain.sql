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
  scanned_block bigint NOT NULL
);

-- Tokens of the treasury when its transfers began to be watched, in atomic units.
CREATE TABLE chain_openings (
  token text PRIMARY KEY CHECK (token ~ '^0x[0-9a-f]{40}$'),
  block_number bigint NOT NULL,
  amount numeric(78, 0) NOT NULL CHECK (amount >= 0)
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
  purpose text NOT NULL CHECK (purpose IN ('payment', 'deposit', 'refund', 'withdrawal')),
  ref text COLLATE "C" NOT NULL,
  -- Absent for a transaction that the payer sent itself.
  sender text REFERENCES chain_senders (address),
  nonce bigint,
  target text,
  data bytea,
  gas bigint,
  -- The transfer that it has to make.
  token text NOT NULL,
  transfer_from text NOT NULL,
  transfer_to text NOT NULL,
  amount numeric(78, 0) NOT NULL CHECK (amount > 0),
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'mined', 'reverted', 'displaced')),
  -- Deep enough that no reorganisation is expected to take it back.
  final boolean NOT NULL DEFAULT false,
  hash text,
  block_number bigint,
  block_hash text,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (purpose, ref),
  UNIQUE (sender, nonce),
  CHECK ((sender IS NULL) = (nonce IS NULL)),
  CHECK ((state IN ('mined', 'reverted')) = (block_number IS NOT NULL AND block_hash IS NOT NULL AND hash IS NOT NULL))
);
CREATE INDEX chain_transactions_open ON chain_transactions (id) WHERE state = 'pending' OR NOT final;

-- The signed forms of a transaction: the first, and those that replaced it with a higher fee. Any of them may be mined.
CREATE TABLE chain_attempts (
  hash text PRIMARY KEY,
  transaction_id bigint NOT NULL REFERENCES chain_transactions (id),
  -- Absent when the payer sent it and only named its hash.
  raw bytea,
  max_fee numeric(39, 0) NOT NULL,
  priority_fee numeric(39, 0) NOT NULL,
  signed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX chain_attempts_transaction ON chain_attempts (transaction_id);

-- Transfers of the treasury's tokens that none of its own transactions made.
CREATE TABLE chain_transfers (
  hash text NOT NULL,
  log_index integer NOT NULL,
  block_number bigint NOT NULL,
  token text NOT NULL,
  transfer_from text NOT NULL,
  transfer_to text NOT NULL,
  amount numeric(78, 0) NOT NULL,
  -- What it was counted as: a deposit of an account, or nothing that the gateway knows.
  purpose text NOT NULL CHECK (purpose IN ('deposit', 'other')),
  ref text COLLATE "C" NOT NULL,
  PRIMARY KEY (hash, log_index)
);
CREATE TRIGGER chain_transfers_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON chain_transfers
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
