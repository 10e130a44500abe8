-- Who brought whom. The referrer gets a share of the coin that the referred account and its agents are charged, out of
-- revenue; see control/referrals/.
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
  -- Receipts from this place of the usage log on count.
  from_position bigint NOT NULL,
  -- Where it was attached from: an IPv4 address or an IPv6 network; empty when the operator did it.
  network text NOT NULL,
  -- Coin charges that were counted, what the referrer got for them, and what of a unit is left over, in 1/10000 units.
  base_units numeric(38, 0) NOT NULL DEFAULT 0,
  earned_units bigint NOT NULL DEFAULT 0,
  rest integer NOT NULL DEFAULT 0 CHECK (rest BETWEEN 0 AND 9999),
  attached_at timestamptz NOT NULL DEFAULT now()
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
  PRIMARY KEY (referral_id, to_position),
  CHECK (from_position < to_position)
);
CREATE TRIGGER referral_shares_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON referral_shares
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- One row: receipts before this place of the usage log are counted. Who counts locks it, and who attaches locks it in
-- share mode, so that a referral begins at or behind the place that was counted up to.
CREATE TABLE referral_cursor (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  position bigint NOT NULL
);
INSERT INTO referral_cursor (position) SELECT size FROM usage_log_head;
