-- A key, with the sub-keys that are bound by it, but only those that are not revoked: a revoked one is refused whatever its platform key says, and a
-- platform that makes and revokes many would have them all announced with each of its own changes.
CREATE FUNCTION note_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_changes (hash)
    SELECT OLD.hash
    UNION SELECT NEW.hash
    UNION SELECT hash FROM api_keys WHERE platform_key_id = NEW.id AND revoked_at IS NULL;
  RETURN NULL;
END $$;

-- The settings of an account go for its keys and for those of its agents.
CREATE FUNCTION note_settings_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_changes (hash)
    SELECT hash FROM api_keys
    WHERE revoked_at IS NULL
      AND (account_id = NEW.account_id OR account_id IN (SELECT id FROM agents WHERE owner_id = NEW.account_id));
  RETURN NULL;
END $$;

-- An absent cap is no cap. Amounts are units (1e-9 USD). The secret itself is stored nowhere.
CREATE TABLE api_keys (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  hash text NOT NULL UNIQUE,
  last4 text NOT NULL,
  name text NOT NULL DEFAULT '',
  paused boolean NOT NULL DEFAULT false,
  cap_hour_units bigint CHECK (cap_hour_units BETWEEN 0 AND 9007199254740991),
  cap_day_units bigint CHECK (cap_day_units BETWEEN 0 AND 9007199254740991),
  cap_month_units bigint CHECK (cap_month_units BETWEEN 0 AND 9007199254740991),
  budget_units bigint CHECK (budget_units BETWEEN 0 AND 9007199254740991),
  models text[] NOT NULL DEFAULT '{}',
  no_logs boolean NOT NULL DEFAULT false,
  private_tier boolean NOT NULL DEFAULT false,
  allow_retention boolean,
  -- Zero leaves the gateway's own rate limit.
  requests_per_minute integer NOT NULL DEFAULT 0 CHECK (requests_per_minute >= 0),
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Ids of the priced tools that a key may use; empty allows all.
  tools text[] NOT NULL DEFAULT '{}',
  -- A platform key makes keys of its own for its users: sub-keys, which spend from the same account within their bounds.
  is_platform boolean NOT NULL DEFAULT false,
  -- The platform key that made this one.
  platform_key_id text COLLATE "C" REFERENCES api_keys (id),
  -- Whom the platform made it for, in its own words.
  platform_user text NOT NULL DEFAULT '',
  -- Whether an API key may move coin: fund agents, and pay from them.
  can_transfer boolean NOT NULL DEFAULT true,
  CONSTRAINT no_platform_below_a_platform CHECK (NOT (is_platform AND platform_key_id IS NOT NULL))
);
CREATE INDEX api_keys_account ON api_keys (account_id, id);
CREATE INDEX api_keys_platform ON api_keys (platform_key_id, id) WHERE platform_key_id IS NOT NULL;
CREATE TRIGGER key_changed AFTER UPDATE ON api_keys FOR EACH ROW
  WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION note_key_change();

-- What an account sets for all of its keys; an account without a row has the defaults.
CREATE TABLE account_settings (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
  -- The opt-in to providers that keep data has three states: true, false, and null where nobody has decided.
  allow_retention boolean,
  -- The most that API keys may move out of an account and its agents in a day; null is the gateway's default.
  transfer_cap_units bigint CHECK (transfer_cap_units >= 0)
);
CREATE TRIGGER settings_changed AFTER INSERT OR UPDATE ON account_settings FOR EACH ROW
  EXECUTE FUNCTION note_settings_change();

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

-- Payments by API keys to agents of other accounts; see control/identity/accounts/keyTransfers.ts.
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

-- The sub-keys of platform keys.
CREATE VIEW sub_keys AS SELECT id AS key_id, platform_key_id FROM api_keys WHERE platform_key_id IS NOT NULL;
