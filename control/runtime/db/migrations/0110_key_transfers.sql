-- Whether an API key may move coin: fund agents, and pay from them.
ALTER TABLE api_keys ADD COLUMN can_transfer boolean NOT NULL DEFAULT true;

-- The most that API keys may move out of an account and its agents in a day; null is the gateway's default.
ALTER TABLE account_settings ADD COLUMN transfer_cap_units bigint CHECK (transfer_cap_units >= 0);

-- Payments by API keys to agents of other accounts; see control/accounts/keyTransfers.ts.
CREATE TABLE key_transfers (
  debit_id text COLLATE "C" PRIMARY KEY,
  -- The account whose cap counts: the owner of the agent that paid.
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  -- The key that asked for it: the agent's own, or one of its owner.
  key_id text COLLATE "C" NOT NULL,
  -- Days since 1970, UTC.
  day integer NOT NULL,
  units bigint NOT NULL CHECK (units > 0),
  -- What keys had moved on that day including this transfer, and the cap then in force.
  day_units bigint NOT NULL,
  cap_units bigint NOT NULL,
  CHECK (day_units <= cap_units),
  UNIQUE (account_id, day, day_units)
);
