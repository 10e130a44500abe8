-- Limits that hold over all proxies, of keys and of accounts: the most in any minute, and in flight. Zero is none.
ALTER TABLE api_keys
  ADD COLUMN IF NOT EXISTS tokens_per_minute bigint NOT NULL DEFAULT 0 CHECK (tokens_per_minute BETWEEN 0 AND 1000000000000),
  ADD COLUMN IF NOT EXISTS parallel integer NOT NULL DEFAULT 0 CHECK (parallel BETWEEN 0 AND 1000000);
ALTER TABLE account_settings
  ADD COLUMN IF NOT EXISTS requests_per_minute integer NOT NULL DEFAULT 0 CHECK (requests_per_minute BETWEEN 0 AND 1000000000),
  ADD COLUMN IF NOT EXISTS tokens_per_minute bigint NOT NULL DEFAULT 0 CHECK (tokens_per_minute BETWEEN 0 AND 1000000000000),
  ADD COLUMN IF NOT EXISTS parallel integer NOT NULL DEFAULT 0 CHECK (parallel BETWEEN 0 AND 1000000);
