-- The row that a transaction is for, and the number of its attempt where a row may have several, as `ref` has them.
ALTER TABLE chain_transactions
  ADD COLUMN IF NOT EXISTS subject_id text NOT NULL GENERATED ALWAYS AS (split_part(split_part(ref, '#', 1), ':', 1)) STORED,
  ADD COLUMN IF NOT EXISTS attempt integer GENERATED ALWAYS AS (nullif(split_part(ref, '#', 2), '')::integer) STORED;
DROP INDEX IF EXISTS chain_transactions_settlements, chain_transactions_payouts, chain_transactions_lock_mints;
CREATE INDEX IF NOT EXISTS chain_transactions_subjects ON chain_transactions (purpose, subject_id)
  WHERE purpose NOT IN ('payment', 'deposit');
