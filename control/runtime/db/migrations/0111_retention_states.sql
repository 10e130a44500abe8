-- The opt-in to providers that keep data has three states: true, false, and null where nobody has decided.
ALTER TABLE account_settings ALTER COLUMN allow_retention DROP NOT NULL, ALTER COLUMN allow_retention DROP DEFAULT;
ALTER TABLE api_keys ALTER COLUMN allow_retention DROP NOT NULL, ALTER COLUMN allow_retention DROP DEFAULT;
-- Until now, false was also what a key had that never decided.
UPDATE api_keys SET allow_retention = NULL WHERE NOT allow_retention;
