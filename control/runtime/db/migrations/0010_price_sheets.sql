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

CREATE TRIGGER price_sheets_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON price_sheets
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER catalog_records_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON catalog_records
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
