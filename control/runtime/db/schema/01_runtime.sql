CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END
$$;

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

-- The outbox of what the proxies have to be told of keys: hashes whose record they must not use any longer. A row is
-- written by the transaction of the change itself, so that no change is forgotten when control dies after its commit.
CREATE TABLE key_changes (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash text NOT NULL
);
