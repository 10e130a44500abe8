-- The keys that signed catalogs, one after the other. Each is named by its predecessor, whose signatures of the same
-- statement stand beside its own; the first has none.
CREATE TABLE catalog_signers (
  number integer PRIMARY KEY CHECK (number > 0),
  -- The address of its secp256k1 key, and its Ed25519 key in hex. A key that was replaced does not come back.
  address text COLLATE "C" NOT NULL UNIQUE CHECK (address ~ '^0x[0-9a-f]{40}$'),
  ed25519 text COLLATE "C" NOT NULL CHECK (ed25519 ~ '^[0-9a-f]{64}$'),
  -- The first version of the catalog that it signs.
  from_version integer NOT NULL UNIQUE CHECK (from_version > 0),
  since timestamptz NOT NULL,
  statement text NOT NULL,
  own_eip191 text NOT NULL,
  own_ed25519 text NOT NULL,
  previous_eip191 text CHECK ((number = 1) = (previous_eip191 IS NULL)),
  previous_ed25519 text CHECK ((number = 1) = (previous_ed25519 IS NULL))
);
CREATE TRIGGER catalog_signers_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON catalog_signers
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Every catalog that was ever signed.
CREATE TABLE signed_catalogs (
  version integer PRIMARY KEY CHECK (version > 0),
  signer integer NOT NULL REFERENCES catalog_signers (number),
  sheet_version integer NOT NULL REFERENCES price_sheets (version),
  valid_from timestamptz NOT NULL,
  valid_until timestamptz NOT NULL CHECK (valid_until > valid_from),
  -- Of what it says apart from its version and dates.
  content_hash text COLLATE "C" NOT NULL,
  -- The canonical JSON as it is served, byte for byte, and its SHA-256 in hex.
  catalog text NOT NULL,
  digest text COLLATE "C" NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
  eip191 text NOT NULL,
  ed25519 text NOT NULL
);
CREATE INDEX signed_catalogs_sheet ON signed_catalogs (sheet_version, version);
CREATE TRIGGER signed_catalogs_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON signed_catalogs
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
