-- The size of images whose price goes by it, WxH. Empty for all else, and in receipts from before.
ALTER TABLE receipts ADD COLUMN size text NOT NULL DEFAULT '';
-- What the audit compares with the price sheets.
CREATE INDEX receipts_rated ON receipts (position) WHERE rate = 'batch' OR tier = 'private' OR size <> '';
DROP INDEX receipts_special;
