-- How far the endings that proxy processes deliver are booked. The endings of one process and shard are numbered from 1.
CREATE TABLE owner_positions (
  owner text COLLATE "C" NOT NULL,
  shard smallint NOT NULL,
  -- All up to this number are booked, or kept as rejects.
  seq bigint NOT NULL,
  -- Those booked behind a gap: first and last number in turn, ascending.
  ahead bigint[] NOT NULL DEFAULT '{}',
  booked_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (owner, shard)
) WITH (fillfactor = 50);
-- Such an ending that cannot be booked is kept in settlement_rejects with the entry_id STREAMID/NUMBER, as its settlement
-- the Ended message, and its owner among the fields.
