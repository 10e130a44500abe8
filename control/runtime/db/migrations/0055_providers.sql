-- Endpoints that customers have registered, each checked before it was written here. Keys of endpoints are not kept.
CREATE TABLE providers (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  name text NOT NULL,
  base_url text COLLATE "C" NOT NULL,
  dialect text NOT NULL CHECK (dialect IN ('openai', 'anthropic')),
  data_policy text NOT NULL CHECK (data_policy IN ('none', 'retained')),
  -- What the endpoint said it serves, when it was checked last.
  models text[] NOT NULL,
  checked_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  removed_at timestamptz
);
CREATE UNIQUE INDEX providers_endpoint ON providers (account_id, base_url) WHERE removed_at IS NULL;
CREATE INDEX providers_listed ON providers (id) WHERE removed_at IS NULL;
