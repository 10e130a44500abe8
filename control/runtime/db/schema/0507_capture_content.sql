-- Traces may have the content of the requests of a key.
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS capture_content boolean NOT NULL DEFAULT false;
