-- Ids of the priced tools that a key may use; empty allows all.
ALTER TABLE api_keys ADD COLUMN tools text[] NOT NULL DEFAULT '{}';

-- What an account sets for all of its keys; an account without a row has the defaults.
CREATE TABLE account_settings (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
  -- The opt-in to providers that keep data.
  allow_retention boolean NOT NULL DEFAULT false
);
