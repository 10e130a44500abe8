-- The layout of the text that the usage log has of a receipt; see control/book/usagelog/leafText.ts. A control of the
-- version before, which does not name it, writes the first one.
ALTER TABLE receipts ADD COLUMN leaf_layout smallint NOT NULL DEFAULT 1 CHECK (leaf_layout IN (1, 2));
