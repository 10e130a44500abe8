-- Movements on the chain are listed for everybody, in the order in which they were recorded: each that is deep enough in the
-- chain has an id that sorts by that time. One that the chain takes back loses it, and gets another one with its next block.

CREATE FUNCTION new_flow_id(moment timestamptz) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT 'flow_' || substr(request_id_at(moment), 5) || upper(substr(replace(gen_random_uuid()::text, '-', ''), 1, 16))
$$;

ALTER TABLE chain_transactions ADD COLUMN flow_id text COLLATE "C";
UPDATE chain_transactions SET flow_id = new_flow_id(created_at) WHERE state = 'mined';

CREATE FUNCTION name_flow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.flow_id := CASE WHEN NEW.state = 'mined' THEN new_flow_id(clock_timestamp()) END;
  RETURN NEW;
END
$$;
CREATE TRIGGER chain_transactions_flow BEFORE UPDATE OF state ON chain_transactions
  FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION name_flow();

-- Of transfers that others sent, the time is known by what was recorded about the same block or before.
ALTER TABLE chain_transfers ADD COLUMN flow_id text COLLATE "C";
ALTER TABLE chain_transfers DISABLE TRIGGER chain_transfers_append_only;
UPDATE chain_transfers t SET flow_id = new_flow_id(coalesce(
  (SELECT created_at FROM deposits d WHERE d.replay_key = t.hash || ':' || t.log_index),
  (SELECT max(created_at) FROM chain_transactions c WHERE c.block_number <= t.block_number),
  now()));
ALTER TABLE chain_transfers ENABLE TRIGGER chain_transfers_append_only;
ALTER TABLE chain_transfers ALTER COLUMN flow_id SET DEFAULT new_flow_id(clock_timestamp()), ALTER COLUMN flow_id SET NOT NULL;

-- A page reads its own rows alone, also of one kind.
CREATE UNIQUE INDEX chain_transactions_flows ON chain_transactions (flow_id) WHERE flow_id IS NOT NULL;
CREATE INDEX chain_transactions_flow_kinds ON chain_transactions (purpose, flow_id) WHERE flow_id IS NOT NULL;
CREATE UNIQUE INDEX chain_transfers_flows ON chain_transfers (flow_id);
CREATE INDEX chain_transfers_flow_kinds ON chain_transfers (purpose, flow_id);

-- How a token is shown; null until control has asked its contract.
ALTER TABLE chain_openings ADD COLUMN symbol text, ADD COLUMN decimals smallint;

-- The newest block when transfers were read last, which confirmations are counted from; null before that.
ALTER TABLE chain_identity ADD COLUMN head_block bigint;
