-- Settlement batches: what the usage logs were at a checkpoint, what was charged since the batch before, and what the treasury
-- holds and owes. Each is anchored in a contract on the chain, in the order of their numbers.
CREATE TABLE settlement_batches (
  number bigint PRIMARY KEY CHECK (number > 0),
  -- The checkpoint: entries of the log of heads, of the batch before and of this one, and their root.
  tree_size_from bigint NOT NULL,
  tree_size bigint NOT NULL UNIQUE CHECK (tree_size > tree_size_from),
  root bytea NOT NULL CHECK (length(root) = 32),
  note text NOT NULL,
  key text NOT NULL,
  -- By log: the places of its receipts, from the first up to but without the last.
  log_from bigint[] NOT NULL CHECK (cardinality(log_from) = 65),
  log_until bigint[] NOT NULL CHECK (cardinality(log_until) = 65),
  -- The same summed up.
  receipts_from bigint NOT NULL,
  receipts_until bigint NOT NULL CHECK (receipts_until >= receipts_from),
  charged_units numeric(39, 0) NOT NULL CHECK (charged_units >= 0),
  held_units numeric(39, 0) NOT NULL CHECK (held_units >= 0),
  owed_units numeric(39, 0) NOT NULL,
  -- What the hash on the chain is of: canonical JSON.
  statement text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
