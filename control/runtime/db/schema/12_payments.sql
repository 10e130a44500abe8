-- Transfers back to payers, each for one payment or more.
CREATE TABLE refunds (
  id text COLLATE "C" PRIMARY KEY,
  payer text NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  token text NOT NULL,
  amount numeric(78, 0) NOT NULL CHECK (amount > 0),
  units bigint NOT NULL CHECK (units > 0),
  state text NOT NULL DEFAULT 'sending' CHECK (state IN ('sending', 'sent', 'stuck')),
  attempts integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  attempts_max integer CHECK (attempts_max > 0)
);
CREATE INDEX refunds_open ON refunds (id) WHERE state = 'sending';
-- Refunds that an operator has to look at are counted for every scrape of the metrics.
CREATE INDEX refunds_stuck ON refunds (id) WHERE state = 'stuck';

-- Requests paid one by one. A row is claimed before anything is sent to the chain.
CREATE TABLE payments (
  -- The id of the request, which is also that of its receipt.
  id text COLLATE "C" PRIMARY KEY,
  -- What the authorization can be used once by, in normal form.
  replay_key text COLLATE "C" NOT NULL UNIQUE,
  protocol text NOT NULL CHECK (protocol IN ('x402', 'mpp')),
  payer text NOT NULL CHECK (payer ~ '^0x[0-9a-f]{40}$'),
  account_id text COLLATE "C" NOT NULL,
  asset text NOT NULL,
  token text NOT NULL,
  -- Atomic units of the token, and what they are credited as.
  amount numeric(78, 0) NOT NULL CHECK (amount > 0),
  units bigint NOT NULL CHECK (units > 0),
  hold_units bigint NOT NULL CHECK (hold_units BETWEEN 0 AND units),
  -- settling: claimed, the transfer is not in a block yet. paid: it is, and the request may be served. failed: there is
  -- and will be no transfer. closed: served or given up, and what goes back is known.
  state text NOT NULL DEFAULT 'settling' CHECK (state IN ('settling', 'paid', 'failed', 'closed')),
  -- The request as its receipt needs it when nobody serves it.
  owner text COLLATE "C" NOT NULL,
  model text NOT NULL,
  endpoint text NOT NULL,
  sheet_version integer NOT NULL,
  streamed boolean NOT NULL,
  challenge_id text NOT NULL DEFAULT '',
  agent text NOT NULL DEFAULT '',
  -- By Redis's clock: no hold is taken for the request after this.
  serve_by_ms bigint NOT NULL,
  held boolean NOT NULL DEFAULT false,
  -- What goes back: units of the book, and atomic units of the token that they are.
  back_units bigint,
  back_amount numeric(78, 0),
  -- Nothing was served: what goes back does not wait for more.
  back_now boolean NOT NULL DEFAULT false,
  refund_id text COLLATE "C" REFERENCES refunds (id),
  created_at timestamptz NOT NULL DEFAULT now(),
  closed_at timestamptz,
  -- Units: the smallest charge that the quote named, and what the charge lacked to it, which is known once a payment is
  -- closed and is booked on its own.
  min_units bigint NOT NULL DEFAULT 0,
  fee_units bigint NOT NULL DEFAULT 0,
  -- Units, known once a payment is closed: what it took of the credit, what it added to it, and the credit that it left.
  credit_used_units bigint NOT NULL DEFAULT 0,
  credit_kept_units bigint NOT NULL DEFAULT 0,
  credit_left_units bigint NOT NULL DEFAULT 0,
  CHECK ((state = 'closed') = (back_units IS NOT NULL AND back_amount IS NOT NULL)),
  CONSTRAINT payments_fee_check CHECK (min_units BETWEEN 0 AND units AND fee_units BETWEEN 0 AND min_units),
  CONSTRAINT payments_credit_check
    CHECK (credit_used_units >= 0 AND credit_kept_units >= 0 AND credit_left_units >= credit_kept_units),
  -- A refund takes the credit along, so it may be more than its own payment.
  CONSTRAINT payments_back_check CHECK (back_units BETWEEN 0 AND units + credit_used_units AND back_amount >= 0)
);
-- One payment of an address settles at a time.
CREATE UNIQUE INDEX payments_in_flight ON payments (payer) WHERE state = 'settling';
CREATE INDEX payments_open ON payments (id) WHERE state IN ('settling', 'paid');
CREATE INDEX payments_back ON payments (payer, token) WHERE state = 'closed' AND refund_id IS NULL AND back_amount > 0;
-- Payments whose gas nobody has paid, by wallet.
CREATE INDEX payments_uncovered ON payments (payer, id) WHERE state = 'failed' OR back_now;

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
  coin_nanos bigint NOT NULL CHECK (coin_nanos > 0),
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
  created_at timestamptz NOT NULL DEFAULT now(),
  coin_nanos bigint NOT NULL CHECK (coin_nanos > 0),
  -- An operator may allow more attempts than the limit; none are made beyond the allowed number.
  attempts_max integer CHECK (attempts_max > 0)
);
CREATE INDEX withdrawals_of_account ON withdrawals (account_id, id);
CREATE INDEX withdrawals_open ON withdrawals (id) WHERE state = 'sending';
