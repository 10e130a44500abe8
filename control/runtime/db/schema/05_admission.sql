-- What the book remembers of the admission state in Redis. One row.
CREATE TABLE admission_state (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- Empty before admission opened for the first time.
  epoch text NOT NULL,
  -- Identity of the Redis process that the state was last checked in; another one may have lost the newest writes.
  redis_run_id text NOT NULL
);
INSERT INTO admission_state (epoch, redis_run_id) VALUES ('', '');

-- Coin that was taken off an account in Redis to be moved elsewhere in the book; see control/admission/debits/.
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

-- Numbers the loadings of admission state, so that one that lost its lock can not overwrite a later one.
CREATE SEQUENCE admission_loads;
