-- Registered providers are paid for the part of a charge that was paid in coin. Receipts before these places of the usage logs
-- were paid for by their whole charge.
ALTER TABLE provider_cursors ADD COLUMN whole_until bigint NOT NULL DEFAULT 0;
UPDATE provider_cursors SET whole_until = position;
