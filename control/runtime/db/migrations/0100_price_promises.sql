-- Renewals of the promise of a price sheet: while it is in force, its prices are promised for longer than they were when it
-- was published. The newest end counts.
CREATE TABLE price_promises (
  sheet_version integer NOT NULL REFERENCES price_sheets (version),
  valid_until timestamptz NOT NULL,
  renewed_at timestamptz NOT NULL,
  PRIMARY KEY (sheet_version, valid_until)
);
CREATE TRIGGER price_promises_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON price_promises
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
