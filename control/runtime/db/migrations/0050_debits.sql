-- Coin that was taken off an account in Redis to be moved elsewhere in the book; see control/debits/.
CREATE TABLE debits (
  -- Names the transfer that it was booked by.
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  -- The API key whose caps it counts against; empty for none.
  key_id text COLLATE "C" NOT NULL,
  units bigint NOT NULL CHECK (units > 0),
  taken_at_ms bigint NOT NULL,
  -- Given back in Redis; it can not be booked any more.
  voided boolean NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX debits_key ON debits (key_id) WHERE key_id <> '' AND NOT voided;
CREATE INDEX debits_voided ON debits (at) WHERE voided;

-- The debit that an event of the outbox ends: what Redis has taken for it is not taken again.
ALTER TABLE admission_events ADD COLUMN debit_id text COLLATE "C";
CREATE INDEX admission_events_debit ON admission_events (debit_id) WHERE debit_id IS NOT NULL;
