ALTER TABLE proxy_owners
  -- How many endings the process will have had at least: those that it has numbered, and its requests that are open on
  -- leases. It says so with every pulse.
  ADD COLUMN begun bigint NOT NULL DEFAULT 0,
  -- When everything of its journal was booked after its end; it has ended all of its requests then.
  ADD COLUMN replayed_at timestamptz;
