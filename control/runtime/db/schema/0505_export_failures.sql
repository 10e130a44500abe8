-- Failed attempts at storing a file since it was planned.
ALTER TABLE export_files ADD COLUMN IF NOT EXISTS failures integer NOT NULL DEFAULT 0;
