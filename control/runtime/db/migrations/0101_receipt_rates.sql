-- Which rates a request was charged by. Empty where that was never written down: in receipts from before, and of holds that
-- nobody was there to end.
ALTER TABLE receipts ADD COLUMN rate text NOT NULL DEFAULT '' CHECK (rate IN ('', 'standard', 'batch'));
ALTER TABLE receipts ADD COLUMN tier text NOT NULL DEFAULT '' CHECK (tier IN ('', 'standard', 'private'));
-- What the audit compares with the price sheets.
CREATE INDEX receipts_special ON receipts (position) WHERE rate = 'batch' OR tier = 'private';
