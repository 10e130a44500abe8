-- A platform key makes keys of its own for its users: sub-keys, which spend from the same account within their bounds.
ALTER TABLE api_keys
  ADD COLUMN is_platform boolean NOT NULL DEFAULT false,
  -- The platform key that made this one.
  ADD COLUMN platform_key_id text COLLATE "C" REFERENCES api_keys (id),
  -- Whom the platform made it for, in its own words.
  ADD COLUMN platform_user text NOT NULL DEFAULT '',
  ADD CONSTRAINT no_platform_below_a_platform CHECK (NOT (is_platform AND platform_key_id IS NOT NULL));
CREATE INDEX api_keys_platform ON api_keys (platform_key_id, id) WHERE platform_key_id IS NOT NULL;
