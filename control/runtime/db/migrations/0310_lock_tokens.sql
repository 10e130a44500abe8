-- Tokens of compute locks as ERC-1155 tokens of the contract LockTokens. The ledger account lock_onchain:SERIES has what was
-- withdrawn and not redeemed.
CREATE TABLE lock_withdrawals (
  id text COLLATE "C" PRIMARY KEY,
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  account_id text COLLATE "C" NOT NULL,
  wallet text NOT NULL CHECK (wallet ~ '^0x[0-9a-f]{40}$'),
  contract text NOT NULL CHECK (contract ~ '^0x[0-9a-f]{40}$'),
  micros bigint NOT NULL CHECK (micros > 0),
  units bigint NOT NULL CHECK (units > 0),
  -- sending: taken off the holding. sent: minted. returned: the contract refuses it, the holding has it back. expired: the
  -- series ended before it was minted.
  state text NOT NULL DEFAULT 'sending' CHECK (state IN ('sending', 'sent', 'returned', 'expired')),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX lock_withdrawals_of_account ON lock_withdrawals (account_id, id);
CREATE INDEX lock_withdrawals_open ON lock_withdrawals (id) WHERE state = 'sending';
CREATE INDEX lock_withdrawals_series ON lock_withdrawals (series_id);

-- Tokens that wallets have redeemed.
CREATE TABLE lock_redemptions (
  -- HASH:PLACE, the transaction and the place among its redemptions.
  id text COLLATE "C" PRIMARY KEY,
  hash text NOT NULL,
  block_number bigint NOT NULL,
  contract text NOT NULL,
  -- By the id of the token; there may be no such series.
  series_id text COLLATE "C" NOT NULL,
  wallet text NOT NULL CHECK (wallet ~ '^0x[0-9a-f]{40}$'),
  -- What the wallet has noted, 32 bytes in hex.
  note text NOT NULL,
  micros numeric(78, 0) NOT NULL CHECK (micros > 0),
  -- waiting: the wallet is linked to no account, or its account holds too many series. refused: there are no such tokens in the
  -- book. expired: the series ended before it was credited.
  state text NOT NULL CHECK (state IN ('waiting', 'credited', 'refused', 'expired')),
  account_id text COLLATE "C",
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((state = 'credited') = (account_id IS NOT NULL))
);
CREATE INDEX lock_redemptions_waiting ON lock_redemptions (id) WHERE state = 'waiting';
CREATE INDEX lock_redemptions_series ON lock_redemptions (series_id);

-- How far the redemptions of a contract are read.
CREATE TABLE lock_scans (
  contract text PRIMARY KEY,
  scanned_block bigint NOT NULL
);

-- A mint moves none of the treasury's tokens. Its ref is WITHDRAWAL#ATTEMPT.
ALTER TABLE chain_transactions
  DROP CONSTRAINT chain_transactions_purpose_check,
  ADD CONSTRAINT chain_transactions_purpose_check CHECK (purpose IN
    ('payment', 'deposit', 'refund', 'withdrawal', 'settlement', 'reward', 'reward_root', 'vault', 'vault_vest', 'lock_mint')),
  DROP CONSTRAINT chain_transactions_transfer_check,
  ADD CONSTRAINT chain_transactions_transfer_check CHECK (num_nonnulls(token, transfer_from, transfer_to, amount) =
    CASE WHEN purpose IN ('settlement', 'reward_root', 'vault_vest', 'lock_mint') THEN 0 ELSE 4 END);
CREATE INDEX chain_transactions_lock_mints ON chain_transactions ((split_part(ref, '#', 1))) WHERE purpose = 'lock_mint';
