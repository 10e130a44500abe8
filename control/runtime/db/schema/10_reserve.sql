-- What is owed and what is held against it: a row a day (UTC), with its first reading and its last, and signed attestations.
CREATE TABLE reserve_days (
  day date PRIMARY KEY,
  first_reading json NOT NULL,
  first_at timestamptz NOT NULL,
  last_reading json NOT NULL,
  last_at timestamptz NOT NULL CHECK (last_at >= first_at),
  -- Readings, up to the last one, that found less held than owed.
  short_readings integer NOT NULL CHECK (short_readings >= 0)
);

-- What salts of leaves are derived of: one row, made when it is first needed. Who has it can tell whose a leaf is.
CREATE TABLE liability_secret (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  secret bytea NOT NULL CHECK (length(secret) = 32)
);

CREATE TABLE reserve_attestations (
  number bigint PRIMARY KEY CHECK (number > 0),
  signer integer NOT NULL REFERENCES catalog_signers (number),
  -- The canonical JSON, byte for byte, and its SHA-256 in hex, which is signed.
  statement text NOT NULL,
  digest text COLLATE "C" NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
  eip191 text NOT NULL,
  ed25519 text NOT NULL,
  -- The chain, the holders and the contracts that it is of: another text has another attestation made.
  addresses text NOT NULL,
  -- The sum tree of what is owed in coin.
  leaves bigint NOT NULL CHECK (leaves >= 0),
  root bytea NOT NULL CHECK (length(root) = 32),
  sum_nanos numeric(39, 0) NOT NULL CHECK (sum_nanos >= 0),
  -- The last transfer of the book that it counts; it counts all before that one.
  transfers_until bigint NOT NULL,
  attested_at timestamptz NOT NULL
);

-- Nodes of the sum trees of the last attestations, 256 of one level a row: hash (32 bytes) and sum (16 bytes) of each.
CREATE TABLE liability_tiles (
  attestation bigint NOT NULL REFERENCES reserve_attestations (number) DEFERRABLE INITIALLY DEFERRED,
  level smallint NOT NULL CHECK (level >= 0),
  place bigint NOT NULL CHECK (place >= 0),
  nodes bytea NOT NULL CHECK (length(nodes) % 48 = 0 AND length(nodes) BETWEEN 48 AND 256 * 48),
  -- Of its first leaf: leaves stand in the order of their salts.
  first_salt bytea CHECK ((level = 0) = (first_salt IS NOT NULL)),
  PRIMARY KEY (attestation, level, place)
);
CREATE INDEX liability_tiles_salts ON liability_tiles (attestation, first_salt) WHERE level = 0;

-- When the operator asked for an attestation last.
CREATE TABLE attestation_request (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  requested_at timestamptz NOT NULL
);
