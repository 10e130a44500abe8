-- Sums of a batch by tag and user, which are added to usage_tags when the batch is counted, for many batches together. JSON, as of
-- TagCell in control/book/statistics/usageTags.ts. Receipts from the cursors of the statistics on are not in usage_tags yet.
ALTER TABLE statistics_batches ADD COLUMN IF NOT EXISTS tags text NOT NULL DEFAULT '[]';
