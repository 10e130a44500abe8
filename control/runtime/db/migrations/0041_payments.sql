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
  refund_id text COLLATE "C",
  created_at timestamptz NOT NULL DEFAULT now(),
  closed_at timestamptz,
  CHECK ((state = 'closed') = (back_units IS NOT NULL AND back_amount IS NOT NULL)),
  CHECK (back_units BETWEEN 0 AND units AND back_amount BETWEEN 0 AND amount)
);
-- One payment of an address settles at a time.
CREATE UNIQUE INDEX payments_in_flight ON payments (payer) WHERE state = 'settling';
CREATE INDEX payments_open ON payments (id) WHERE state IN ('settling', 'paid');
CREATE INDEX payments_back ON payments (payer, token) WHERE state = 'closed' AND refund_id IS NULL AND back_amount > 0;

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
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX refunds_open ON refunds (id) WHERE state = 'sending';
ALTER TABLE payments ADD FOREIGN KEY (refund_id) REFERENCES refunds (id);
