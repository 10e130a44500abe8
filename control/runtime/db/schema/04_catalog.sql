-- Every price sheet ever served. Holds pin a version, so a published sheet never changes.
CREATE TABLE price_sheets (
  version integer PRIMARY KEY CHECK (version > 0),
  published_at timestamptz NOT NULL,
  valid_until timestamptz NOT NULL CHECK (valid_until > published_at),
  content_hash text NOT NULL,
  -- The text as it is served, byte for byte.
  sheet text NOT NULL
);

-- What the proxies work by. One sheet may have several records one after the other: routes to the same public
-- providers can be pointed elsewhere without a change of prices. The newest is in force.
CREATE TABLE catalog_records (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sheet_version integer NOT NULL REFERENCES price_sheets (version),
  published_at timestamptz NOT NULL,
  record bytea NOT NULL
);

-- When a model was first on a sheet: `created` of GET /v1/models.
CREATE TABLE catalog_models (
  id text PRIMARY KEY,
  listed_at timestamptz NOT NULL
);

-- What the operator says of the service. An incident is opened and closed once; nothing else of it ever changes.
CREATE TABLE incidents (
  id text COLLATE "C" PRIMARY KEY,
  title text NOT NULL CHECK (title <> ''),
  impact text NOT NULL CHECK (impact IN ('maintenance', 'minor', 'major', 'critical')),
  -- The models that it is about; none for the whole service.
  models text[] NOT NULL,
  note text NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT now(),
  closed_at timestamptz,
  -- What is said of its end.
  resolution text NOT NULL DEFAULT '',
  CHECK (closed_at >= opened_at)
);
CREATE INDEX incidents_open ON incidents (id) WHERE closed_at IS NULL;
CREATE INDEX incidents_closed ON incidents (closed_at) WHERE closed_at IS NOT NULL;
CREATE TRIGGER incidents_no_delete BEFORE DELETE OR TRUNCATE ON incidents
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER incidents_closed_once BEFORE UPDATE ON incidents
  FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL OR (OLD.id, OLD.title, OLD.impact, OLD.models, OLD.note, OLD.opened_at)
    IS DISTINCT FROM (NEW.id, NEW.title, NEW.impact, NEW.models, NEW.note, NEW.opened_at))
  EXECUTE FUNCTION refuse_change();

-- Routes that the operator has disabled by hand, whatever the catalog says. Who did it when is in the audit trail.
CREATE TABLE route_switches (
  -- provider/model as the provider names it, or provider/* for all of a provider.
  route text COLLATE "C" PRIMARY KEY,
  reason text NOT NULL,
  disabled_at timestamptz NOT NULL DEFAULT now()
);

-- Renewals of the promise of a price sheet: while it is in force, its prices are promised for longer than they were when it
-- was published. The newest end counts.
CREATE TABLE price_promises (
  sheet_version integer NOT NULL REFERENCES price_sheets (version),
  valid_until timestamptz NOT NULL,
  renewed_at timestamptz NOT NULL,
  PRIMARY KEY (sheet_version, valid_until)
);

-- How long the processes of the proxy saw the service in each state, by day; of several processes the sum.
CREATE TABLE observed_days (
  -- Days since 1970, UTC.
  day integer NOT NULL,
  state text NOT NULL,
  ms bigint NOT NULL CHECK (ms >= 0),
  PRIMARY KEY (day, state)
);

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
  statement text NOT NULL, own_eip191 text NOT NULL, own_ed25519 text NOT NULL,
  previous_eip191 text CHECK ((number = 1) = (previous_eip191 IS NULL)),
  previous_ed25519 text CHECK ((number = 1) = (previous_ed25519 IS NULL))
);

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

-- List prices of providers as they were read, a row for each change of what a list says of a model or of how that compares
-- with what is sold. Prices are JSON: the keys of the price sheet, decimal strings of USD.
CREATE TABLE price_observations (
  id text COLLATE "C" PRIMARY KEY,
  -- The provider and the list, as the catalog names them.
  provider text COLLATE "C" NOT NULL,
  list text COLLATE "C" NOT NULL,
  -- What is shown of the list's address; null where that is nobody's business.
  url text,
  -- As the list names it, and the model of the catalog that it is sold as; '' for one that is not sold.
  upstream_model text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  price text NOT NULL,
  sheet_version integer REFERENCES price_sheets (version),
  sold text,
  difference text,
  is_above_sold boolean NOT NULL,
  -- Of price and sold.
  fingerprint text COLLATE "C" NOT NULL,
  -- SHA-256 of the bytes that were read when it was seen first and last, in hex.
  first_sha256 text COLLATE "C" NOT NULL,
  last_sha256 text COLLATE "C" NOT NULL,
  observed_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL CHECK (last_seen_at >= observed_at),
  -- Whether the list said so when it was read last.
  is_current boolean NOT NULL
);
CREATE UNIQUE INDEX price_observations_current ON price_observations (provider, list, upstream_model, model)
  WHERE is_current;
CREATE INDEX price_observations_model ON price_observations (model, id);
CREATE INDEX price_observations_upstream ON price_observations (upstream_model, id);
CREATE INDEX price_observations_seen ON price_observations (last_seen_at, id);

-- What providers answered who were asked to prove their hardware, each answer with what was made of it.
CREATE TABLE attestation_reports (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^att_[0-9A-Z]{26}$'),
  provider text COLLATE "C" NOT NULL,
  -- The policy of the catalog that it was verified against, as JSON, and its SHA-256 in hex.
  policy text NOT NULL,
  policy_sha256 text COLLATE "C" NOT NULL CHECK (policy_sha256 ~ '^[0-9a-f]{64}$'),
  -- What the provider had to answer, 32 bytes in hex.
  nonce text COLLATE "C" NOT NULL CHECK (nonce ~ '^[0-9a-f]{64}$'),
  -- verified: it proves what the policy asks for. refused: it does not. unreachable: there was no answer.
  verdict text COLLATE "C" NOT NULL CHECK (verdict IN ('verified', 'refused', 'unreachable')),
  -- Why not: a word, and a sentence for people. Both empty for verified.
  fault text COLLATE "C" NOT NULL CHECK ((fault = '') = (verdict = 'verified')),
  reason text NOT NULL,
  -- JSON: registers and what is in them. Null unless verified.
  measurements text CHECK ((measurements IS NOT NULL) = (verdict = 'verified')),
  report_data text COLLATE "C" NOT NULL DEFAULT '',
  tcb text NOT NULL DEFAULT '',
  fetched_at timestamptz NOT NULL,
  valid_until timestamptz NOT NULL CHECK (valid_until >= fetched_at),
  -- The answer byte for byte; empty where there was none.
  evidence bytea NOT NULL,
  evidence_sha256 text COLLATE "C" NOT NULL CHECK (evidence_sha256 ~ '^[0-9a-f]{64}$')
);
CREATE INDEX attestation_reports_provider ON attestation_reports (provider, id);

-- By digest, so that a start can tell a file that was changed from one that a later publication by command has replaced.
CREATE TABLE catalog_files (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- SHA-256 of the file that is in force.
  in_force text NOT NULL,
  -- SHA-256 of the file that a control published last when it started or was told to read it again.
  configured text
);

-- Units in one coin, by price sheet.
CREATE VIEW coin_prices AS
SELECT version, ((sheet::jsonb #>> '{coin,usd}')::numeric * 1000000000)::bigint AS units FROM price_sheets;
