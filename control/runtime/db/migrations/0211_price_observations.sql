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
