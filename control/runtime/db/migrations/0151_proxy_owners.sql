-- Proxy processes, which have leases perhaps, by their last call.
CREATE TABLE proxy_owners (
  owner text COLLATE "C" PRIMARY KEY,
  seen_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
