CREATE TABLE revenue_periods (
  -- Number 0 is the moment from which on revenue counts.
  number bigint PRIMARY KEY CHECK (number >= 0),
  starts_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL CHECK (ends_at > starts_at OR number = 0),
  -- What the accounts of revenue had taken in when the period ended, as if no share of this table had been taken out.
  total_units numeric(39, 0) NOT NULL,
  net_units numeric(39, 0) NOT NULL,
  -- By how much more went out than came in, up to here; the next revenue makes up for it first.
  deficit_units numeric(39, 0) NOT NULL CHECK (deficit_units >= 0),
  -- What is set aside of this period, and what divisions leave for the next one: halves of a unit, and 1/10000 of a unit.
  reward_units bigint NOT NULL CHECK (reward_units >= 0),
  reward_rest smallint NOT NULL CHECK (reward_rest BETWEEN 0 AND 1),
  vault_units bigint NOT NULL CHECK (vault_units >= 0),
  vault_rest smallint NOT NULL CHECK (vault_rest BETWEEN 0 AND 9999),
  vault_bps smallint NOT NULL,
  -- The price at which coin was set aside, and the coin; nanos are integers of 1e-9 coin.
  coin_usd_units bigint NOT NULL CHECK (coin_usd_units > 0),
  reward_nanos bigint NOT NULL CHECK (reward_nanos >= 0),
  vault_nanos bigint NOT NULL CHECK (vault_nanos >= 0),
  -- How the rewards were shared out: the coin of this period and what the one before had no holder for is earned by holders,
  -- or there is none. What they had carried and earn is paid by the root, credited to accounts, or carried.
  pool_nanos bigint NOT NULL,
  earned_nanos bigint NOT NULL CHECK (earned_nanos IN (0, pool_nanos)),
  paid_nanos bigint NOT NULL,
  credited_nanos bigint NOT NULL,
  carried_nanos bigint NOT NULL CHECK (carried_nanos >= 0),
  holders integer NOT NULL,
  min_nanos bigint NOT NULL,
  excluded text[] NOT NULL,
  -- Null where nothing is paid.
  root bytea CHECK (length(root) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The nodes of the tree of a period, 32 bytes each, the root first; stored as they are, so that a proof reads its own alone.
CREATE TABLE reward_trees (
  number bigint PRIMARY KEY REFERENCES revenue_periods,
  nodes bytea NOT NULL
);
ALTER TABLE reward_trees ALTER COLUMN nodes SET STORAGE EXTERNAL;

-- What a period has for a holder: by the root, or credited to the account of the wallet.
CREATE TABLE reward_shares (
  address text COLLATE "C" NOT NULL,
  number bigint NOT NULL REFERENCES revenue_periods,
  nanos bigint NOT NULL CHECK (nanos > 0),
  -- Its place in the tree; null where it is credited.
  node integer,
  account_id text COLLATE "C",
  CHECK ((node IS NULL) <> (account_id IS NULL)),
  PRIMARY KEY (address, number)
);
CREATE INDEX reward_shares_credited ON reward_shares (number, address) WHERE account_id IS NOT NULL;

-- What holders have in all.
CREATE TABLE reward_holders (
  address text COLLATE "C" PRIMARY KEY,
  earned_nanos bigint NOT NULL, paid_nanos bigint NOT NULL, credited_nanos bigint NOT NULL,
  carried_nanos bigint NOT NULL CHECK (carried_nanos >= 0 AND carried_nanos = earned_nanos - paid_nanos - credited_nanos),
  -- The last period in which it earned.
  last_number bigint NOT NULL,
  last_nanos bigint NOT NULL
);

-- How far the transfers of the token are read, and where that was when the last period was closed.
CREATE TABLE reward_scan (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  token text COLLATE "C" NOT NULL,
  block bigint NOT NULL,
  hash text,
  -- Seconds since 1970; null before the first block is read.
  block_time bigint,
  base_block bigint NOT NULL,
  base_hash text,
  base_time bigint
);

-- Balances before all transfers of the table below.
CREATE TABLE reward_balances (
  address text COLLATE "C" PRIMARY KEY,
  amount numeric(78, 0) NOT NULL
);

CREATE TABLE reward_transfers (
  block bigint NOT NULL,
  log_index integer NOT NULL,
  block_time bigint NOT NULL,
  sender text COLLATE "C" NOT NULL,
  receiver text COLLATE "C" NOT NULL,
  amount numeric(78, 0) NOT NULL CHECK (amount > 0),
  PRIMARY KEY (block, log_index)
);

CREATE TABLE reward_claims (
  number bigint NOT NULL,
  address text COLLATE "C" NOT NULL,
  hash text NOT NULL,
  block bigint NOT NULL,
  PRIMARY KEY (number, address)
);

-- Coin that a period has sent on the chain.
CREATE TABLE revenue_payouts (
  purpose text NOT NULL CHECK (purpose IN ('reward', 'vault')),
  number bigint NOT NULL REFERENCES revenue_periods,
  token text COLLATE "C" NOT NULL,
  -- The contract that gets it.
  receiver text COLLATE "C" NOT NULL,
  amount numeric(78, 0) NOT NULL CHECK (amount > 0),
  nanos bigint NOT NULL CHECK (nanos > 0),
  units bigint NOT NULL,
  state text NOT NULL DEFAULT 'sending' CHECK (state IN ('sending', 'sent')),
  attempts integer NOT NULL DEFAULT 0,
  -- How often its state changed, which names the transfers of the book.
  moves integer NOT NULL DEFAULT 0,
  attempts_max integer CHECK (attempts_max > 0),
  PRIMARY KEY (purpose, number)
);
CREATE INDEX revenue_payouts_sending ON revenue_payouts (purpose, number) WHERE state = 'sending';

-- What a whole share of the vault was worth, in the smallest units of the coin, once an hour.
CREATE TABLE vault_prices (
  hour integer PRIMARY KEY,
  block bigint NOT NULL,
  -- Seconds since 1970, of the block.
  block_time bigint NOT NULL,
  vault text COLLATE "C" NOT NULL,
  price numeric(78, 0) NOT NULL CHECK (price > 0)
);
