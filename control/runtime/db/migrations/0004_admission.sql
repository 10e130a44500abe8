-- What the book remembers of the admission state in Redis. One row.
CREATE TABLE admission_state (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- Empty before admission opened for the first time.
  epoch text NOT NULL,
  -- Identity of the Redis process that the state was last checked in; another one may have lost the newest writes.
  redis_run_id text NOT NULL
);
-- Numbers the loadings of admission state, so that one that lost its lock can not overwrite a later one.
CREATE SEQUENCE admission_loads;

INSERT INTO admission_state (epoch, redis_run_id) VALUES ('', '');

-- Shards whose admission state is known to differ from the book and has to be loaded again.
CREATE TABLE admission_dirty (
  shard smallint PRIMARY KEY,
  reason text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);

-- Grants that admission may still list; the sweep takes a grant out when nothing of it is left.
CREATE TABLE open_grants (
  grant_id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  expires_at_ms bigint NOT NULL
);
