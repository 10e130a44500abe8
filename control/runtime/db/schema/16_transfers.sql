-- Coin that waits in escrow for whoever has the token. The token itself is stored nowhere.
CREATE TABLE links (
  id text COLLATE "C" PRIMARY KEY,
  -- As in hashSecret.
  token_hash text NOT NULL UNIQUE,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  units bigint NOT NULL CHECK (units > 0),
  note text NOT NULL,
  status text NOT NULL CHECK (status IN ('open', 'claimed', 'cancelled', 'expired')),
  claimed_by text COLLATE "C" REFERENCES accounts (id),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  -- When it was claimed, cancelled or expired.
  ended_at timestamptz,
  -- The coin of each; its units are what that was worth when it was moved.
  coin_nanos bigint NOT NULL CHECK (coin_nanos > 0),
  CHECK ((status = 'open') = (ended_at IS NULL)),
  CHECK ((status = 'claimed') = (claimed_by IS NOT NULL))
);
CREATE INDEX links_account ON links (account_id, id);
CREATE INDEX links_open ON links (expires_at) WHERE status = 'open';

-- Who brought whom. The referrer gets a share of the coin that the referred account and its agents are charged, out of
-- revenue; see control/products/transfers/referrals/.
CREATE TABLE referral_codes (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
  code text COLLATE "C" NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE referrals (
  id text COLLATE "C" PRIMARY KEY,
  -- The referred account, which has one referrer.
  account_id text COLLATE "C" NOT NULL UNIQUE REFERENCES accounts (id),
  referrer_id text COLLATE "C" NOT NULL REFERENCES accounts (id) CHECK (referrer_id <> account_id),
  -- Where it was attached from: an IPv4 address or an IPv6 network; empty when the operator did it.
  network text NOT NULL,
  -- Coin charges that were counted, what the referrer got for them, and what of a unit is left over, in 1/10000 units.
  base_units numeric(38, 0) NOT NULL DEFAULT 0,
  earned_units bigint NOT NULL DEFAULT 0,
  rest integer NOT NULL DEFAULT 0 CHECK (rest BETWEEN 0 AND 9999),
  attached_at timestamptz NOT NULL DEFAULT now(),
  -- What a referral was paid, in coin.
  earned_nanos bigint NOT NULL DEFAULT 0,
  -- Receipts from these places on count, those of log N from from_positions[N + 1].
  from_positions bigint[] NOT NULL,
  CHECK (cardinality(from_positions) = 65)
);
CREATE INDEX referrals_referrer ON referrals (referrer_id, id);
CREATE INDEX referrals_network ON referrals (network, attached_at) WHERE network <> '';

-- One row for each referral and stretch of the usage log that had coin charges of it.
CREATE TABLE referral_shares (
  referral_id text COLLATE "C" NOT NULL REFERENCES referrals (id),
  from_position bigint NOT NULL,
  to_position bigint NOT NULL,
  base_units bigint NOT NULL CHECK (base_units > 0),
  -- Of the base, in 1/10000.
  share_bps integer NOT NULL,
  -- What was paid: the transfer referral, ref ID:to_position; none when it is zero.
  units bigint NOT NULL CHECK (units >= 0),
  at timestamptz NOT NULL DEFAULT now(),
  -- Each share is of one log. Its transfer has the ref ID:LOG:to_position, in log 64 ID:to_position.
  log smallint NOT NULL,
  CHECK (from_position < to_position),
  PRIMARY KEY (referral_id, log, to_position)
);

-- Receipts before these places of the usage logs are counted for referrers. Who counts locks these rows, and who attaches locks them in share
-- mode, so that a referral begins at or behind the places that were counted up to.
CREATE TABLE referral_cursors (
  log smallint PRIMARY KEY,
  position bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO referral_cursors (log, position) SELECT log, 0 FROM generate_series(0, 64) AS log;
