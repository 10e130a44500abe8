-- For the audit of the private tier: each receipt of it names the report of the provider that served it.

-- Receipts before these places of the usage logs may name none, because they may be older than reports are.
CREATE TABLE unattested_receipts (
  log smallint PRIMARY KEY,
  until_position bigint NOT NULL
);
INSERT INTO unattested_receipts (log, until_position) SELECT log, size FROM usage_log_heads;

-- What a month that was put away had of them: held from the first to the last moment, milliseconds since 1970.
CREATE TABLE archived_attestations (
  month text COLLATE "C" NOT NULL,
  attestation text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  sheet_version integer NOT NULL,
  receipts bigint NOT NULL,
  first_held_ms bigint NOT NULL,
  last_held_ms bigint NOT NULL,
  PRIMARY KEY (month, attestation, provider, model, sheet_version)
);
