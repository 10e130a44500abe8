-- A reorganisation takes transfers back, or moves them to another block. What a transfer was counted as stays as it is; its
-- block and how many equal ones its transaction makes follow the chain, and `equals` is 0 while the chain has none of them.
ALTER TABLE chain_transfers DROP CONSTRAINT chain_transfers_check, ADD CHECK (place >= 1), ADD CHECK (equals >= 0);
DROP TRIGGER chain_transfers_append_only ON chain_transfers;
CREATE TRIGGER chain_transfers_append_only
  BEFORE UPDATE OF hash, log_index, token, transfer_from, transfer_to, amount, purpose, ref, place, flow_id OR DELETE OR TRUNCATE
  ON chain_transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE INDEX chain_transfers_others ON chain_transfers (block_number) WHERE purpose = 'other';
