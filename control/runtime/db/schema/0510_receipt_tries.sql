-- Attempts at providers; 0 where none was asked, and in receipts from before.
ALTER TABLE receipts ADD COLUMN IF NOT EXISTS tries integer NOT NULL DEFAULT 0;
