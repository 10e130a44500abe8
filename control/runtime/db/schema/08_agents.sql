CREATE FUNCTION note_agent_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_changes (hash) SELECT hash FROM api_keys WHERE account_id = NEW.id AND revoked_at IS NULL;
  RETURN NULL;
END $$;

-- An agent is an account of its own (id agt_...), with coin of its own and one API key, whose settings are the agent's
-- policy. What only agents have is here.
CREATE TABLE agents (
  id text COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
  owner_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  slug text COLLATE "C" NOT NULL UNIQUE,
  description text NOT NULL DEFAULT '',
  key_id text COLLATE "C" NOT NULL UNIQUE REFERENCES api_keys (id),
  -- When the key's secret was last shown; before that nobody has it.
  key_issued_at timestamptz,
  -- The most that one request or payment may cost at worst; null is no cap.
  request_cap_units bigint CHECK (request_cap_units BETWEEN 0 AND 9007199254740991),
  -- What may cost more than this waits for the owner; null lets everything pass.
  approval_threshold_units bigint CHECK (approval_threshold_units BETWEEN 0 AND 9007199254740991),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX agents_owner ON agents (owner_id, id);
CREATE TRIGGER agent_changed AFTER UPDATE ON agents FOR EACH ROW
  WHEN (OLD.request_cap_units IS DISTINCT FROM NEW.request_cap_units
    OR OLD.approval_threshold_units IS DISTINCT FROM NEW.approval_threshold_units)
  EXECUTE FUNCTION note_agent_change();

-- Requests and payments of agents that wait for their owner, or did.
CREATE TABLE approvals (
  id text COLLATE "C" PRIMARY KEY,
  agent_id text COLLATE "C" NOT NULL REFERENCES agents (id),
  subject text NOT NULL CHECK (subject IN ('request', 'payment')),
  -- What is approved: an endpoint and a model, or 'pay' and the receiver, with the hash of the rest.
  endpoint text NOT NULL, model text NOT NULL, body_hash text NOT NULL,
  -- The most that it may hold or pay.
  units bigint NOT NULL CHECK (units > 0),
  -- The request that asked for it.
  request_id text COLLATE "C" NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'used', 'expired')),
  -- The request or payment that it was used for.
  used_by text COLLATE "C",
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  used_at timestamptz,
  CHECK ((status = 'used') = (used_by IS NOT NULL))
);
CREATE INDEX approvals_agent ON approvals (agent_id, id);
-- One open approval for the same thing.
CREATE UNIQUE INDEX approvals_open ON approvals (agent_id, subject, endpoint, model, body_hash)
  WHERE status IN ('pending', 'approved');
CREATE INDEX approvals_expiry ON approvals (expires_at) WHERE status IN ('pending', 'approved');

-- What floors of control read of tables that a higher floor owns (control/tables.json). A view belongs to the lowest floor that
-- reads it, and is all that this floor has to know of the tables above.

-- Accounts of agents, with the account that they belong to.
CREATE VIEW account_owners AS SELECT id AS account_id, owner_id FROM agents;
