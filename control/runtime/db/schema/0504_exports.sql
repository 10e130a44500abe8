-- Exports of receipts. The last hour since 1970 whose files are all planned; locked while files are planned.
CREATE TABLE IF NOT EXISTS export_progress (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  hour integer NOT NULL
);
INSERT INTO export_progress (hour) VALUES (-1) ON CONFLICT DO NOTHING;

-- Up to where the receipts of each usage log are in planned files.
CREATE TABLE IF NOT EXISTS export_cursors (
  log smallint PRIMARY KEY,
  position bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO export_cursors (log, position) SELECT log, 0 FROM generate_series(0, 64) AS log ON CONFLICT DO NOTHING;

-- A file is planned with its name and its receipts, and then written, as often as it takes: with the same contents each time.
CREATE TABLE IF NOT EXISTS export_files (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- 2027-01-31T14-1: the hour that ended before, UTC, and the number of the file in it.
  name text COLLATE "C" NOT NULL UNIQUE,
  form text NOT NULL CHECK (form IN ('csv', 'jsonl')),
  -- The places of its receipts, log by log: the positions from the first up to but without the last.
  logs smallint[] NOT NULL,
  firsts bigint[] NOT NULL,
  lasts bigint[] NOT NULL,
  -- Once it is written.
  receipts bigint,
  charge_units numeric,
  written_at timestamptz
);
CREATE INDEX IF NOT EXISTS export_files_unwritten ON export_files (id) WHERE written_at IS NULL;
