-- Coin of accounts that came in on the chain.
CREATE TABLE deposits (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  -- authorization: the wallet signed and the gateway sent it (EIP-3009). transfer: seen on the chain.
  source text NOT NULL CHECK (source IN ('authorization', 'transfer')),
  -- What an authorization can be used once by, in normal form; of a transfer, transaction and place in its log.
  replay_key text COLLATE "C" NOT NULL UNIQUE,
  wallet text NOT NULL CHECK (wallet ~ '^0x[0-9a-f]{40}$'),
  asset text NOT NULL,
  token text NOT NULL,
  -- Atomic units of the token, and what they are credited as.
  amount numeric(78, 0) NOT NULL CHECK (amount > 0),
  units bigint NOT NULL CHECK (units > 0),
  -- settling: stored, and not deep enough in the chain yet. failed: there is no transfer by this authorization.
  state text NOT NULL CHECK (state IN ('settling', 'credited', 'failed')),
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK (source = 'authorization' OR state = 'credited')
);
CREATE INDEX deposits_of_account ON deposits (account_id, id);
-- One deposit of a wallet settles at a time.
CREATE UNIQUE INDEX deposits_in_flight ON deposits (wallet) WHERE state = 'settling';

-- Coin of accounts that leaves to their wallets. Its units wait in escrow until the transfer is deep enough.
CREATE TABLE withdrawals (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  wallet text NOT NULL CHECK (wallet ~ '^0x[0-9a-f]{40}$'),
  asset text NOT NULL,
  token text NOT NULL,
  amount numeric(78, 0) NOT NULL CHECK (amount > 0),
  units bigint NOT NULL CHECK (units > 0),
  -- sending: set aside. sent: the transfer is made. returned: the token refuses this wallet, the account has it back.
  state text NOT NULL DEFAULT 'sending' CHECK (state IN ('sending', 'sent', 'returned')),
  -- Transactions that were stored for it.
  attempts integer NOT NULL DEFAULT 0,
  -- How often the chain moved its state; names the transfers of the book.
  moves integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX withdrawals_of_account ON withdrawals (account_id, id);
CREATE INDEX withdrawals_open ON withdrawals (id) WHERE state = 'sending';
