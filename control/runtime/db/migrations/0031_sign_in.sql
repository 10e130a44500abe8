-- Wallets that sign in to an account. Addresses are lower case.
CREATE TABLE wallets (
  address text COLLATE "C" PRIMARY KEY CHECK (address ~ '^0x[0-9a-f]{40}$'),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  linked_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX wallets_account ON wallets (account_id);

-- A session belongs to a wallet; its account is the one that the wallet is linked to at the moment. Signing out and
-- expiry delete the row. The secret itself is stored nowhere.
CREATE TABLE sessions (
  id text COLLATE "C" PRIMARY KEY,
  hash text NOT NULL UNIQUE,
  address text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_address ON sessions (address, id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Nonces are proven by their signature, so that giving one out stores nothing; these were used and count no more.
CREATE TABLE used_nonces (
  nonce text COLLATE "C" PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX used_nonces_expiry ON used_nonces (expires_at);

-- What nonces are signed with. One row; random by https://www.postgresql.org/docs/current/functions-uuid.html, 244 bits.
CREATE TABLE nonce_secret (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  secret text NOT NULL
);
INSERT INTO nonce_secret (secret) VALUES (gen_random_uuid()::text || gen_random_uuid()::text);

-- One-time codes by which a wallet is linked to an account; a code that was used is deleted.
CREATE TABLE link_codes (
  hash text PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  expires_at timestamptz NOT NULL
);
