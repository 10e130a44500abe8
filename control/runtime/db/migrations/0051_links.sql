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
  CHECK ((status = 'open') = (ended_at IS NULL)),
  CHECK ((status = 'claimed') = (claimed_by IS NOT NULL))
);
CREATE INDEX links_account ON links (account_id, id);
CREATE INDEX links_open ON links (expires_at) WHERE status = 'open';
