-- First answers to requests with an Idempotency-Key, written in the transaction of what they did.
CREATE TABLE idempotency_keys (
  caller text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  -- SHA-256 of method, path, query and body.
  fingerprint text NOT NULL,
  status smallint NOT NULL,
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (caller, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
