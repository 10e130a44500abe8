-- The usage log: an RFC 6962 Merkle tree over the receipts in the order of their positions.

-- One row. Every transaction that appends locks it first, so that positions are given out without gaps.
CREATE TABLE usage_log_head (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  size bigint NOT NULL,
  -- Hashes of the complete subtrees that the log is made of, largest first, 32 bytes each.
  peaks bytea NOT NULL
) WITH (fillfactor = 50);
INSERT INTO usage_log_head (size, peaks) VALUES (0, '');

-- Roots of the complete subtrees of 256, 65,536 and 16,777,216 leaves, so that a proof reads a few hundred rows at most.
CREATE TABLE usage_log_nodes (
  level smallint NOT NULL CHECK (level IN (8, 16, 24)),
  index bigint NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (level, index)
);
CREATE TRIGGER usage_log_nodes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON usage_log_nodes
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER usage_log_head_kept BEFORE DELETE OR TRUNCATE ON usage_log_head
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
