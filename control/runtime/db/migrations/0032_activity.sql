-- Everything that somebody changed, written in the transaction of the change.
CREATE TABLE activity (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  type text NOT NULL,
  -- Who did it: wallet, key, operator or gateway, and which one.
  actor_kind text NOT NULL CHECK (actor_kind IN ('wallet', 'key', 'operator', 'gateway')),
  actor_id text NOT NULL,
  -- The id of what was changed.
  target text NOT NULL,
  details jsonb NOT NULL,
  client_address text NOT NULL,
  request_id text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX activity_account ON activity (account_id, id);
CREATE TRIGGER activity_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON activity
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

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
