-- User and tags of requests, the salt of their hash, and the hash, which the fourth layout of leaves has; '' for none.
ALTER TABLE receipts
  ADD COLUMN IF NOT EXISTS tags_hash text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS end_user text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS tags text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS tags_salt text COLLATE "C" NOT NULL DEFAULT '';
-- The layouts are those of control/book/receipt/fields.mjs; the audit builds the text of every leaf anew.
DO $$
DECLARE
  part text;
BEGIN
  ALTER TABLE receipts DROP CONSTRAINT IF EXISTS receipts_leaf_layout_check;
  FOR part IN SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'receipts'::regclass LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS receipts_leaf_layout_check', part);
  END LOOP;
END
$$;
ALTER TABLE batch_jobs
  ADD COLUMN IF NOT EXISTS end_user text NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS tags text NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS tags_salt text NOT NULL DEFAULT '';
-- Tags of the requests of a key that do not say otherwise.
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS tags text NOT NULL DEFAULT '';
